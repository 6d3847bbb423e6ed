"""Two modules with the same text have variables of their own, which variants use, whatever first launches do; the texts
of variants are equal in every run.

Arguments: the build folder, the program.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402


def run_program(build, folder, program, how):
    output, texts = folder / "out.jsonl", folder / f"ptx-{how}"
    for file in texts.glob("*"):
        file.unlink()
    run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count,memory_efficiency", "-o", output, "--dump", texts,
                    "--first-launch", how, "--", program, preload=False)
    expect(run.status in (0, 3) if how == "native" else run.status == 0, f"{run}")
    return run, read_json_lines(output), sorted(file.read_text() for file in texts.glob("*.instrumented.ptx"))


def main():
    build, program = Build(sys.argv[1]), sys.argv[2]
    native = build.run(build.command, "run", "-d", "cpu", "--", program, preload=False)
    demand_equal("status", native.status, 0)
    # 64 threads add 3 + 1 to 3 + 4 each in 4 blocks, or 10 + round + the same in 2.
    demand_equal("output", native.stdout.decode().split(), [str(number) for i in range(4)
                                                            for number in (100 + 4 * 64 * 5 + 4 * 16 * 2, 100 + 2 * 16 * (4 * (10 + i) + 10))])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for how in ("wait", "alone", "native"):
            run, records, texts = run_program(build, folder, program, how)
            demand_equal(f"output with {how}", run.stdout, native.stdout)
            for each in records:
                if each["record"] == "coverage" and how != "native":
                    demand_equal(f"instrumented launches of {each}", each["instrumented_launches"], each["launches"])
            if how == "native":
                continue
            expect(any("__lynxpp_variables[3]" in text for text in texts), f"no table in {texts}")
            demand_equal("texts of a second run", run_program(build, folder, program, how)[2], texts)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TestFailure as failure:
        sys.exit(f"{failure}")
