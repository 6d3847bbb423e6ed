"""Graphs of a driver API program on the cpu device: they run, and every launch by a graph is counted.

Arguments: the build folder, the program, its arguments.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, read_json_lines  # noqa: E402

BY_GRAPHS = 3 * 2 + 2


def main():
    build = Build(sys.argv[1])
    program = sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        output, counters = pathlib.Path(folder, "records.jsonl"), pathlib.Path(folder, "counters.jsonl")
        run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--", *program,
                        preload=False, environment={"LYNXPP_CPU_COUNTERS": str(counters)})
        demand_equal(f"status of {run}", run.status, 0)
        demand_equal("output", run.stdout, b"ok\n")
        records = read_json_lines(output)
        launches = [record for record in records if record["record"] == "launch"]
        demand_equal("launches", len({record["launch"] for record in launches}), 1 + BY_GRAPHS)
        for record in launches:
            demand_equal("results", record["results"], launches[0]["results"])
        coverage, = [record for record in records if record["record"] == "coverage"]
        demand_equal("launches that were seen", coverage["launches"], 1 + BY_GRAPHS)
        demand_equal("launches that were counted", coverage["instrumented_launches"], 1 + BY_GRAPHS)
        # The device itself must have run all of them.
        demand_equal("launches on the device", len(read_json_lines(counters)), 1 + BY_GRAPHS)
        check_trials(build, program, pathlib.Path(folder, "trials.jsonl"))
    bench = build.run(build.command, "bench", "-d", "cpu", "-r", "1", "-s", "instruction_count", "--", *program, preload=False)
    row, = [line.split() for line in bench.stdout.decode().splitlines() if line.startswith("vecadd ")]
    demand_equal("launches that bench times", row[1], str(1 + BY_GRAPHS))
    print(f"{BY_GRAPHS} launches by graphs counted")


def check_trials(build, program, output):
    """With LYNXPP_TRIALS, a graph's nodes are launched one by one, so that its kernels are timed."""
    run = build.run(*program, environment={"LD_LIBRARY_PATH": str(build.folder / "lib" / "cpu-driver"), "LYNXPP_OUTPUT": str(output),
                                           "LYNXPP_TRIALS": "global-access:again", "LYNXPP_TRIAL_REPLAY": "0",
                                           "LYNXPP_CPU_CLOCK": "compute_9_0"})
    demand_equal(f"status and output of {run}", (run.status, run.stdout), (0, b"ok\n"))
    records = read_json_lines(output)
    coverage, = [record for record in records if record["record"] == "coverage"]
    demand_equal("launches that were seen", coverage["launches"], 1 + BY_GRAPHS)
    demand_equal("notes", coverage["notes"], [])
    original, again = [record for record in records if record["record"] == "trial"]
    demand_equal("trials", [(each["perturbation"], each["launches"], len(each["ms"])) for each in (original, again)],
                 [("", 1 + BY_GRAPHS, 5), ("global-access:again", 1 + BY_GRAPHS, 4)])


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
