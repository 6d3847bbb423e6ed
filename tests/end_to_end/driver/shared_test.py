"""Launches that share records have the same totals, coverage and effects as launches with a record each, whatever ends
them.

Arguments: the build folder, the program.
"""
import collections
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

SPECIFICATIONS = ("instruction_count,memory_efficiency,branch_divergence,opcode_mix,shared_bank_conflicts,"
                  "memory_transactions")
LAUNCHES = {"wait": 1000, "alternate": 1000, "streams": 1000, "destroy_streams": 1000, "threads": 1200, "detach": 600,
            "unload": 600, "exit": 1000, "destroy_context": 500, "fault": 501}


def added(total, value):
    if isinstance(value, list):
        return [added(a, b) for a, b in zip(total or [0] * len(value), value)]
    return (total or 0) + value


def parts_of(result):
    """Returns the numbers of a result that add up."""
    if not isinstance(result, dict):
        return {"": result}
    parts = ("values",) if "values" in result else ("numerator", "denominator")
    return {part: result[part] for part in parts}


def totals_of(records):
    """Returns the sums of all results, by specification, grid and name, and the number of launches by specification."""
    totals, launches = {}, collections.Counter()
    for record in records:
        if record["record"] != "launch":
            continue
        shared = record.get("shared", {"launches": 1, "last": record["launch"]})
        expect(record["launch"] + shared["launches"] - 1 <= shared["last"], f"numbers of {record}")
        launches[record["spec"]] += shared["launches"]
        for name, result in record["results"].items():
            for part, value in parts_of(result).items():
                key = (record["spec"], tuple(record["grid"]), name, part)
                totals[key] = added(totals.get(key), value)
    # A result that is only emitted if it is not 0 may be missing.
    return {key: value for key, value in totals.items() if value}, launches


def measured(build, folder, program, what, specifications, records):
    output = pathlib.Path(folder, f"{what}-{records}.jsonl")
    arguments = ["--per-launch"] if records == "all" else []
    environment = {} if records == "all" else {"LYNXPP_LAUNCH_RECORDS": records}
    run = build.run(build.command, "run", "-d", "cpu", "-s", specifications, "-o", output, *arguments, "--", program, what,
                    preload=False, environment=environment)
    demand_equal(f"status of {run}", run.status, 0)
    return run, read_json_lines(output)


def coverage_of(records):
    coverage = [record for record in records if record["record"] == "coverage"]
    return {name: sum(record[name] for record in coverage) for name in ("launches", "instrumented_launches")}


def notes_of(records):
    return [note for record in records if record["record"] == "coverage" for note in record["notes"]]


def check_same(build, folder, program, what):
    own, own_records = measured(build, folder, program, what, SPECIFICATIONS, "all")
    shared, shared_records = measured(build, folder, program, what, SPECIFICATIONS, "64")
    demand_equal(f"output of {what}", shared.stdout, own.stdout)
    own_totals, own_launches = totals_of(own_records)
    totals, launches = totals_of(shared_records)
    demand_equal(f"{what}: launches with results", set(launches.values()), {LAUNCHES[what]})
    demand_equal(f"{what}: launches with results of their own", own_launches, launches)
    demand_equal(f"{what}: totals", totals, own_totals)
    demand_equal(f"{what}: coverage", coverage_of(shared_records), coverage_of(own_records))
    demand_equal(f"{what}: notes", notes_of(shared_records), notes_of(own_records))
    count = sum(record["record"] == "launch" for record in shared_records)
    expect(count < 6 * LAUNCHES[what], f"{what}: launches share records, not {count} for {LAUNCHES[what]} launches")
    return count


def check_fault(build, folder, program):
    """Results of launches whose context fails before they are read back are lost, and coverage says so."""
    run, records = measured(build, folder, program, "fault", SPECIFICATIONS, "64")
    demand_equal("output of fault", run.stdout, b"a fault\n")
    _, launches = totals_of(records)
    demand_equal("fault: instrumented launches", coverage_of(records)["instrumented_launches"], LAUNCHES["fault"])
    expect(all(each < LAUNCHES["fault"] for each in launches.values()), f"fault: launches with results: {launches}")
    notes = notes_of(records)
    expect(any(note.startswith("results lost: ") for note in notes), f"fault: notes {notes}")


def check_that_single_launches_stay_single(build, folder, program):
    """A specification whose results are not sums keeps launches apart, also those of the others."""
    _, records = measured(build, folder, program, "wait", "instruction_count,kernel_runtime", "64")
    launches = [record for record in records if record["record"] == "launch"]
    demand_equal("launch records with kernel_runtime", len(launches), 2 * LAUNCHES["wait"])


def main():
    build, program = Build(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        counts = [check_same(build, folder, program, what) for what in LAUNCHES if what != "fault"]
        check_fault(build, folder, program)
        check_that_single_launches_stay_single(build, folder, program)
    print(f"launch records: {counts}")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
