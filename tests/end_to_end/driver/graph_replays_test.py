"""Graphs of a driver API program on the cpu device (LYNXPP_TEST_DEVICE: on another one): their kernels are
counted replay by replay, however the program changes them, and each count equals that of a plain launch of
the same shape.

Arguments: the build folder, the program, its arguments.
"""
import collections
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

# Launches between a detach and the launch after the next attach, as made by the program. Two kernels each.
NOT_TOLD = 2


def main():
    build = Build(sys.argv[1])
    program = sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "records.jsonl")
        device = os.environ.get("LYNXPP_TEST_DEVICE", "cpu")
        run = build.run(build.command, "run", "-d", device, "-s", "instruction_count", "-o", output, "--", *program,
                        preload=False, environment={})
        demand_equal(f"status of {run}", run.status, 0)
        wanted = {int(grid): int(launches) for grid, launches in map(str.split, run.stdout.decode().splitlines())}
        expect(sum(wanted.values()) > 30, run.stdout.decode())
        records = read_json_lines(output)
        by_grid = collections.defaultdict(list)
        for record in records:
            if record["record"] == "launch":
                by_grid[record["grid"][0]].append(record)
        demand_equal("launches by grid", {grid: len(each) for grid, each in sorted(by_grid.items())}, wanted)
        for grid, each in by_grid.items():
            plain, *others = [record["results"] for record in each]
            for results in others:
                demand_equal(f"results of grid {grid}", results, plain)
        numbers = [record["launch"] for record in records if record["record"] == "launch"]
        demand_equal("numbers of launches", len(set(numbers)), len(numbers))
        coverage, = [record for record in records if record["record"] == "coverage"]
        demand_equal("launches that were counted", coverage["instrumented_launches"], sum(wanted.values()))
        demand_equal("launches that were seen", coverage["launches"], sum(wanted.values()) + NOT_TOLD)
        expect(f"{NOT_TOLD} launches by graphs that had been launched before attaching were not counted"
               in coverage["notes"], str(coverage))
    print(f"{sum(wanted.values())} launches counted")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
