"""Launches by a library's constructor are instrumented: of a linked library, before main; of one that a
thread opens while another thread's first launch opens the engine, without a deadlock.

Arguments: the build folder, the program, its arguments.
"""
import collections
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, read_json_lines  # noqa: E402


def main():
    build = Build(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "records.jsonl")
        run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--", *sys.argv[2:],
                        preload=False)
        demand_equal(f"status of {run}", run.status, 0)
        launches = collections.Counter(each["kernel"] for each in read_json_lines(output) if each["record"] == "launch")
    demand_equal("launches recorded", dict(launches), {"of_library": 3, "of_program": 3})
    print("3 launches of each kernel")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
