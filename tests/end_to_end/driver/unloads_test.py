"""A module is unloaded right after its launches, repeatedly: every launch has its record, with the same
counts.

Arguments: the build folder, the program, its arguments.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from driver_test import measured  # noqa: E402
from harness import Build, TestFailure, demand_equal  # noqa: E402


def main():
    build = Build(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        run, found = measured(build, folder, "unloads", sys.argv[2], *sys.argv[3:])
        demand_equal(f"output of {run}", run.stdout, b"ok\n")
        demand_equal("launches", len(found), 10 * 8)
        demand_equal("different counts", len({str(each) for each in found}), 1)
    print(f"{len(found)} launches")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
