"""Executable graphs that a driver API program changes in every order, on the cpu device (LYNXPP_TEST_DEVICE:
on another one): the program's behaviour is unchanged, every launch of every kernel is counted, and
uninstrumented launches have a reason.

Arguments: the build folder, the program, its arguments.
"""
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

REASONS = {"by graphs that were changed in a way that lynxpp does not track", "by graphs in which a graph was replaced",
           "by graphs that had been launched before attaching"}

# An overloaded machine may not provide memory in time; such launches are also accounted for.
NO_ROOM = "for lack of memory"

# Changes by the program, and whether all of its launches are instrumented.
CHANGES = [
    ("", True),
    ("child", True),
    ("child child kernel", True),
    ("children", True),
    ("kernel child", True),
    ("forget child", True),
    ("forget update", True),
    ("update", True),
    ("update child", False),
    ("update kernel", True),
    ("template child", True),
    ("refused", False),
    ("refused child kernel", False),
    ("refused update", False),
    ("child refused child", False),
    ("disable child", True),
    ("disable update", False),
    ("refused disable", False),
    ("other", True),
    ("child other", True),
    ("refused child other", False),
]


def launches_of(coverage):
    """Returns for every kernel: launches, instrumented launches, and launches by reason."""
    found = {}
    for record in coverage:
        reasons = {}
        for note in record.get("notes", []):
            if match := re.fullmatch(r"(\d+) launch(?:es)? (by .*) (?:was|were) not counted", note):
                reasons[match[2]] = int(match[1])
            elif match := re.match(r"(\d+) launch(?:es)? ran uninstrumented for lack of memory", note):
                reasons[NO_ROOM] = int(match[1])
        found[record["kernel"]] = (record["launches"], record["instrumented_launches"], reasons)
    return found


def check(build, program, change, is_instrumented, output):
    device = os.environ.get("LYNXPP_TEST_DEVICE", "cpu")
    native = build.run(build.command, "run", "-d", device, "--", *program, *change.split(), preload=False)
    demand_equal(f"status of {native}", native.status, 0)
    run = build.run(build.command, "run", "-d", device, "-s", "instruction_count", "-o", output, "--", *program,
                    *change.split(), preload=False)
    demand_equal(f"status of {run}", run.status, 0)
    demand_equal(f"output with '{change}'", run.stdout, native.stdout)
    ran = {kernel: int(times) for kernel, times in map(str.split, run.stdout.decode().splitlines())}
    counted = launches_of(record for record in read_json_lines(output) if record["record"] == "coverage")
    for kernel, times in ran.items():
        launches, instrumented, reasons = counted.get(kernel, (0, 0, {}))
        demand_equal(f"launches of {kernel} with '{change}'", launches, times)
        demand_equal(f"launches of {kernel} that are accounted for with '{change}'",
                     instrumented + sum(reasons.values()), times)
        expect(set(reasons) <= REASONS | {NO_ROOM}, f"reasons with '{change}': {reasons}")
    all_instrumented = not any(set(reasons) - {NO_ROOM} for _, _, reasons in counted.values())
    # Checks both directions of the table above.
    demand_equal(f"all launches are instrumented with '{change}'", all_instrumented, is_instrumented)


def main():
    build = Build(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for number, (change, is_instrumented) in enumerate(CHANGES):
            check(build, sys.argv[2:], change, is_instrumented, pathlib.Path(folder, f"{number}.jsonl"))
    print(f"{len(CHANGES)} ways to change a graph")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
