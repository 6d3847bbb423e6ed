"""Graphs of a program of the driver's API on the cpu device: they run, and coverage says of every launch that a
graph made that it was not counted.

Arguments: the build folder, the program, its arguments.
"""
import pathlib
import sys
import tempfile

from harness import Build, TestFailure, demand_equal, expect, read_json_lines

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
        demand_equal("launches", sum(record["record"] == "launch" for record in records), 1)
        coverage, = [record for record in records if record["record"] == "coverage"]
        demand_equal("launches that were seen", coverage["launches"], 1 + BY_GRAPHS)
        demand_equal("launches that were counted", coverage["instrumented_launches"], 1)
        expect(f"{BY_GRAPHS} launches by graphs were not counted" in coverage["notes"], str(coverage))
        # The device itself ran them all, each under a number of its own; to the driver a variant is another kernel.
        numbers = sorted(each["launch"] for each in read_json_lines(counters))
        demand_equal("launches on the device", numbers, [0, *range(BY_GRAPHS)])
    print(f"{BY_GRAPHS} launches by graphs in coverage")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
