"""A program that has allocated all of the device's memory: its launches run unchanged and coverage says what
was missing; when memory is available again, launches are measured.

Arguments: the build folder, the program.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402


def main():
    build = Build(sys.argv[1])
    native = build.run(build.command, "run", "-d", "cpu", "--", sys.argv[2], preload=False)
    demand_equal(f"output of {native}", native.stdout, b"32 64\n")
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "records.jsonl")
        run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--", sys.argv[2], preload=False)
        demand_equal(f"status of {run}", run.status, 0)
        demand_equal(f"output of {run}", run.stdout, native.stdout)
        records = read_json_lines(output)
    demand_equal("launches that have records", [each["launch"] for each in records if each["record"] == "launch"], [1])
    coverage, = [each for each in records if each["record"] == "coverage"]
    demand_equal("launches", (coverage["launches"], coverage["instrumented_launches"]), (2, 1))
    missing = [note for note in coverage["notes"] if note.startswith("1 launch ran uninstrumented for lack of memory (up to ")]
    expect(len(missing) == 1, f"coverage does not say that memory was missing: {coverage['notes']}")
    print(missing[0])


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
