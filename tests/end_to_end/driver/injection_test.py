"""liblynxpp.so in a program that was not started with it: the cpu device's driver opens it in cuInit, like
the real one, because CUDA_INJECTION64_PATH names it. Counts equal those of a preloaded run.

Arguments: the build folder, the program, its arguments.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from driver_test import counts_of, measured  # noqa: E402
from harness import Build, TestFailure, demand_equal, expect  # noqa: E402


def main():
    build = Build(sys.argv[1])
    program, arguments = sys.argv[2], sys.argv[3:]
    injected = {"LD_LIBRARY_PATH": str(build.folder / "lib" / "cpu-driver"), "LYNXPP_SPEC": "instruction_count",
                "CUDA_INJECTION64_PATH": str(build.library)}
    with tempfile.TemporaryDirectory() as folder:
        _, expected = measured(build, folder, "preloaded", program, *arguments)
        output = pathlib.Path(folder, "injected.jsonl")
        run = build.run(program, *arguments, preload=False, environment={**injected, "LYNXPP_OUTPUT": str(output)})
        demand_equal(f"status and output of {run}", (run.status, run.stdout), (0, b"ok\n"))
        expect("== lynxpp: instruction_count on cpu ==" in run.stderr, f"no table\n{run}")
        found = counts_of(output)
        demand_equal("counts", found, expected)
        demand_equal("launches", len(found), 5)
    missing = build.run(program, *arguments, preload=False, environment={**injected, "CUDA_INJECTION64_PATH": "/nowhere/liblynxpp.so"})
    demand_equal(f"status and output of {missing}", (missing.status, missing.stdout), (0, b"ok\n"))
    expect("CUDA_INJECTION64_PATH: /nowhere/liblynxpp.so" in missing.stderr, f"the failure is not reported\n{missing}")
    print(f"{len(found)} launches")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
