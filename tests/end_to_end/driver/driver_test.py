"""Driver API programs on the cpu device: they run, their launches are instrumented by the hooks for a GPU's
driver, and counts equal those of the same kernel in a runtime API program.

Arguments: the build folder, the program, its arguments.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

COUNTS = ("thread_instructions", "warp_instructions")


def counts_of(path):
    return [[record["grid"], record["block"]] + [record["results"][name] for name in COUNTS]
            for record in read_json_lines(path) if record["record"] == "launch"]


def measured(build, folder, name, program, *arguments):
    output = pathlib.Path(folder, name + ".jsonl")
    run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--", program, *arguments,
                    preload=False)
    demand_equal(f"status of {run}", run.status, 0)
    expect(output.exists(), f"no records\n{run}")
    return run, counts_of(output)


def main():
    build = Build(sys.argv[1])
    program, arguments = sys.argv[2], sys.argv[3:]
    native = build.run(build.command, "run", "-d", "cpu", "--", program, *arguments, preload=False)
    demand_equal(f"status of {native}", native.status, 0)
    demand_equal("output", native.stdout, b"ok\n")
    with tempfile.TemporaryDirectory() as folder:
        _, expected = measured(build, folder, "runtime", build.examples / "vecadd")
        run, found = measured(build, folder, "driver", program, *arguments)
        demand_equal("output", run.stdout, b"ok\n")
        demand_equal("launches", len(found), 5)
        demand_equal("counts", found, expected[:5])
        # Commands that start programs themselves make these find the stand-in too.
        bench = build.run(build.command, "bench", "-d", "cpu", "-r", 1, "-s", "instruction_count", "--", program, *arguments,
                          preload=False)
        demand_equal(f"status of {bench}", bench.status, 0)
    print(f"{len(found)} launches, {found[3][2]:,} thread instructions in the fourth")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
