"""A library opened in a separate namespace has its own driver there: the program is unchanged, and a message
says that its launches were not seen.

Arguments: the build folder, the program, its arguments.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect  # noqa: E402


def main():
    build = Build(sys.argv[1])
    run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "--", *sys.argv[2:], preload=False)
    demand_equal(f"status of {run}", run.status, 3)
    demand_equal("output", run.stdout, b"ok\n")
    expect("libcuda.so.1 was opened in a separate namespace (dlmopen): launches there were not seen" in run.stderr,
           f"nothing is said of the launches\n{run}")
    expect("no kernel launch was seen in" in run.stderr, f"nothing is said of the run\n{run}")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
