"""Random PTX kernels compute what the host computes, through the driver's API and the runtime's, in one mode of the cpu device:

plain         in the users' mode
forms, blocks, segments, regions   with LYNXPP_CPU_TIER
counted       with the device's own counters
checked       under check-run, without findings
instrumented  with the ready-made specifications, whose counts equal the device's
assembled     ptxas accepts the kernels, original and instrumented
operations    each operation alone, guarded, and with each immediate; PROGRAM is run_operations

usage: random_ptx_test.py BUILD_FOLDER PROGRAM MODE
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "end_to_end"))
from count_checks import check_counts  # noqa: E402
from harness import Build, Records, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

BUILD = Build(sys.argv[1])
PROGRAM = sys.argv[2]
# FIRST, COUNT, BLOCKS, TRIPS, STATEMENTS: many short launches, and some whose loops run often enough to be compiled again.
SHORT = {"driver": (1, 40, 3, 6, 32), "runtime": (41, 40, 3, 6, 32)}
LONG = {"driver": (101, 6, 400, 200, 10), "runtime": (107, 6, 400, 200, 10)}
FEW = {"driver": (121, 5, 3, 6, 16), "runtime": (126, 5, 3, 6, 16)}
SMALL = {"driver": (141, 4, 3, 6, 5), "runtime": (145, 4, 3, 6, 5)}
RUNS = {"plain": (SHORT, LONG), "forms": (SHORT, LONG), "blocks": (LONG,), "segments": (FEW,), "regions": (SMALL,)}
# Device functions with parameters in registers, as with odd seeds, are not instrumented.
INSTRUMENTED = (2, 4, 6, 8, 10, 12)
SPECS = sorted(path.stem for path in (ROOT / "examples/specs").glob("*.cod"))


def agree(run, count):
    demand_equal(f"status of {run}", run.status, 0)
    expect(f"{count} of {count} kernels compute what the host computes" in run.stdout.decode(), f"a kernel computes something else\n{run}")


def launch(api, wanted, command=("run", "-d", "cpu"), environment=None):
    run = BUILD.run(BUILD.command, *command, "--", PROGRAM, api, *wanted, preload=False, environment=environment)
    agree(run, wanted[1])
    return run


def run_tier(tier):
    for runs in RUNS[tier]:
        for api, wanted in runs.items():
            launch(api, wanted, environment={} if tier == "plain" else {"LYNXPP_CPU_TIER": tier})


def run_counted(folder):
    for api, wanted in {**FEW, **SHORT}.items():
        counters = folder / f"{api}.jsonl"
        launch(api, wanted, environment={"LYNXPP_CPU_COUNTERS": str(counters)})
        demand_equal("launches that were counted", len(read_json_lines(counters)), wanted[1])


def run_checked(folder):
    for api, wanted in FEW.items():
        findings = folder / f"{api}.jsonl"
        launch(api, wanted, command=("check-run", "-o", findings))
        found = [each for each in read_json_lines(findings) if each["type"] == "finding"]
        demand_equal("findings", found, [])


def run_instrumented(folder):
    """Each specification's counts equal the device's counts of the uninstrumented kernel."""
    checks = 0
    for seed in INSTRUMENTED:
        wanted = (seed, 1, 3, 6, 24)
        launch("driver", wanted, environment={"LYNXPP_CPU_COUNTERS": str(folder / "counters.jsonl"), "LYNXPP_CPU_WORDS": "1"})
        counted, = read_json_lines(folder / "counters.jsonl")
        (folder / "counters.jsonl").unlink()
        for spec in SPECS:
            output = folder / f"{seed}.{spec}.jsonl"
            run = launch("driver", wanted, command=("run", "-d", "cpu", "-s", spec, "-o", output))
            records = Records(read_json_lines(output))
            for entry in records.coverage:
                expect(entry["instrumented"], f"{entry['kernel']} was not instrumented: {entry.get('reason')}\n{run}")
            record, = records.by_launch(spec).values()
            checks += check_counts(spec, records, record, counted)
    expect(checks > len(INSTRUMENTED), "nothing was compared")


def run_assembled(folder):
    count = 3
    BUILD.run(BUILD.command, "run", "-d", "cpu", "--", PROGRAM, "text", 2, count, 3, 6, 24, folder, preload=False)
    files = sorted(folder.glob("*.ptx"))
    demand_equal("kernels", len(files), count)
    return subprocess.run([sys.executable, "-B", str(ROOT / "scripts/instrument_corpus"), "--build", str(BUILD.folder), *map(str, files)]).returncode


def run_operations(_):
    run = BUILD.run(BUILD.command, "run", "-d", "cpu", "--", PROGRAM, preload=False)
    demand_equal(f"status of {run}", run.status, 0)
    numbers = re.search(r"(\d+) of (\d+) kernels compute what the host computes", run.stdout.decode())
    expect(numbers and numbers[1] == numbers[2] and int(numbers[2]) > 3000, f"an operation computes something else\n{run}")


def main():
    mode = sys.argv[3]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if mode in RUNS:
            run_tier(mode)
            return 0
        return {"counted": run_counted, "checked": run_checked, "instrumented": run_instrumented, "assembled": run_assembled,
                "operations": run_operations}[mode](folder) or 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
