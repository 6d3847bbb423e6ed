"""Faults of the machine and of the program around launches: registered as kinds of failure, see
failures.py."""
import os
import pathlib
import signal
import subprocess
import tempfile

from failures import expect_unchanged, expect_words, test
from harness import TIMEOUT, clean_environment, demand_equal, expect, read_json_lines

# ---------------------------------------------------------------- memory and disk

@test
def memory_budget(build):
    """Launches that do not fit are refused with the numbers in coverage; the original runs."""
    for budget, instrumented in (("0", 0), ("1G", 5)):
        run, records = build.measure(build.examples / "vecadd", spec="instruction_count",
                                     environment={"LYNXPP_MEMORY_BUDGET": budget})
        expect_unchanged(build, run)
        coverage, = records.coverage
        demand_equal(f"{budget}: launches and instrumented ones", (coverage["launches"], coverage["instrumented_launches"]),
                     (5, instrumented))
        expect_words(run, "5 launches ran uninstrumented for lack of memory (up to ", "LYNXPP_MEMORY_BUDGET leaves 0 bytes of memory for "
                     "probe buffers") if instrumented == 0 else demand_equal("notes", coverage["notes"], [])
    run = build.run(build.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_MEMORY_BUDGET": "much"})
    expect_words(run, "LYNXPP_MEMORY_BUDGET: 'much' is not an amount of memory", "512M", "the program runs uninstrumented")
    expect_unchanged(build, run)


@test
def full_disk(build):
    """The error is reported once; the table is printed, and the program is unchanged."""
    run = build.run(build.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_OUTPUT": "/dev/full"})
    expect_unchanged(build, run)
    expect_words(run, "cannot write /dev/full: No space left on device", "== lynxpp: instruction_count on cpu ==")
    demand_equal("number of reports", run.stderr.count("/dev/full"), 1)


def expect_whole_records_of_the_first(run, output):
    """The program launched 2000 times and its file holds some of their records: these are complete, and the
    next is missing."""
    demand_equal("status", run.status, 0)
    expect(run.stdout.startswith(b"launching: 2000 of 2000, "), f"the program changed\n{run}")
    text = output.read_text()
    expect(text.endswith("}\n"), f"an incomplete line remains: {text[-100:]!r}")
    numbers = [record["launch"] for record in read_json_lines(output) if record["record"] == "launch"]
    expect(10 < len(numbers) < 1900, f"{len(numbers)} records of 2000 launches")
    demand_equal("each once", len(set(numbers)), len(numbers))
    expect_words(run, f"cannot write {output}: ", "later records will be missing",
                 "== lynxpp: instruction_count on cpu ==")
    demand_equal("number of reports", run.stderr.count("cannot write"), 1)


@test
def disk_that_fills(build):
    """During a run: finished records are complete lines, the error is reported once, and the program is
    unchanged."""
    small = ('mount -t tmpfs -o size=64k small "$1" && shift && kept="$1" && shift && "$@"; status=$?; '
             'cp "$LYNXPP_OUTPUT" "$kept"; exit $status')
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode != 0:
        print("no user namespaces: file_size_limit fails in the same way")
        return
    with tempfile.TemporaryDirectory() as folder:
        disk, kept = pathlib.Path(folder, "disk"), pathlib.Path(folder, "kept.jsonl")
        disk.mkdir()
        output = disk / "out.jsonl"
        run = build.run("unshare", "-Urm", "sh", "-c", small, "sh", disk, kept, build.examples / "tests" / "launching", "fork", "2000",
                        spec="instruction_count", environment={"LYNXPP_OUTPUT": str(output)})
        kept.rename(output)
        expect_whole_records_of_the_first(run, output)
        expect_words(run, "No space left on device")


@test
def file_size_limit(build):
    """Like a full disk; the signal for programs that do not handle it (SIGXFSZ) ends none of them."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        run = build.run("bash", "-c", 'ulimit -f 40; exec "$@"', "bash", build.examples / "tests" / "launching", "fork", "2000",
                        spec="instruction_count", environment={"LYNXPP_OUTPUT": str(output)})
        expect_whole_records_of_the_first(run, output)
        expect_words(run, "File too large")


# ---------------------------------------------------------------- many launches

@test
def killed_while_launching(build):
    """SIGKILL leaves complete lines, each launch once. Before the last recorded
    launch, only launches that another thread was in the middle of may be missing."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        run = build.run(build.examples / "tests" / "launching", "kill", "2000", spec="instruction_count",
                        environment={"LYNXPP_OUTPUT": str(output)})
        demand_equal("status", run.status, -signal.SIGKILL)
        numbers = [record["launch"] for record in read_json_lines(output) if record["record"] == "launch"]
    expect(len(numbers) > 1000, f"{len(numbers)} records of 2000 launches")
    missing = set(range(max(numbers))) - set(numbers)
    expect(len(set(numbers)) == len(numbers) and len(missing) < 4, f"among {len(numbers)} records are missing {sorted(missing)}")


@test
def forks_while_launching(build):
    """Children created during launches of other threads end at once; the parent's records are all present,
    once."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        run = build.run(build.examples / "tests" / "launching", "fork", "2000", spec="instruction_count",
                        environment={"LYNXPP_OUTPUT": str(output)})
        demand_equal("status", run.status, 0)
        expect(run.stdout.startswith(b"launching: 2000 of 2000, "), f"the program changed\n{run}")
        records = read_json_lines(output)
    numbers = sorted(record["launch"] for record in records if record["record"] == "launch")
    demand_equal("numbers", numbers, list(range(2000)))
    demand_equal("coverage", [(r["launches"], r["instrumented_launches"], r["notes"]) for r in records if r["record"] == "coverage"],
                 [(2000, 2000, [])])


# ---------------------------------------------------------------- when launches are measured

@test
def start_at_an_event(build):
    """Only launches between cudaProfilerStart and cudaProfilerStop, or in a range, are measured; coverage
    counts the others."""
    program = build.examples / "tests" / "started"
    for start, counted, outside in (("profiler", [1, 2, 6], "outside of cuProfilerStart and cuProfilerStop"),
                                    ("range=warm", [4], "outside of the range 'warm'")):
        run, records = build.measure(program, spec="instruction_count", environment={"LYNXPP_START": start})
        demand_equal("status", run.status, 0)
        demand_equal("grids", [record["grid"][0] for record in records.launches], counted)
        coverage, = records.coverage
        demand_equal("launches", (coverage["launches"], coverage["instrumented_launches"]), (7, len(counted)))
        demand_equal("notes", coverage["notes"], [f"{7 - len(counted)} launches {outside} were not counted"])
    run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "--start", "profiler", "--", program, preload=False)
    demand_equal("status", run.status, 0)
    expect_words(run, "4 launches outside of cuProfilerStart and cuProfilerStop were not counted")
    run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "--start", "later", "--", program, preload=False)
    demand_equal("status with an invalid option", run.status, 2)
    expect_words(run, "--start: 'later' is not a valid start condition", "range=NAME")
