"""PTX that frameworks generate: it parses and is emitted byte for byte, and every kernel loads on the cpu device under `lynxpp run`. With the
ready-made specifications, it computes the same, and they count what the device counts.

usage: frameworks_test.py BUILD_FOLDER LAUNCH_PTX load | some | all

load: no specifications; some: those of one group for each kernel, in turn; all: all for each.
"""
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))
from count_checks import check_counts  # noqa: E402
from harness import Build, Records, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

KERNELS = 55
SPECS = sorted(path.stem for path in (HERE.parents[1] / "examples/specs").glob("*.cod"))
GROUPS = [SPECS[first::6] for first in range(6)]


def launch(build, program, path):
    """Returns the number of kernels of a file, which all load."""
    run = build.run(build.command, "run", "-d", "cpu", "--", program, path, preload=False, timeout=60)
    demand_equal(f"status of {run}", run.status, 0)
    results = dict(line.split()[:2] for line in run.stdout.decode().splitlines())
    text = path.read_text()
    demand_equal(f"kernels of {path.name}", sorted(results), sorted(re.findall(r"\.entry\s+([\w$]+)", text)))
    usual = {"CUDA_SUCCESS", "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_MISALIGNED_ADDRESS"}
    if "invalid tensor map" in run.stderr:  # the arguments are zeros
        usual.add("CUDA_ERROR_ILLEGAL_INSTRUCTION")
    loaded = set(results.values()) <= usual
    expect(loaded, f"a kernel ended unexpectedly: {results}\n{run}")
    return len(results)


def measure(build, program, path, groups, folder):
    """Returns how many results of specifications were compared with the device's counts; None if a kernel rejects the made-up tensor map."""
    command = [program, path, "indices"]
    counters, output = folder / "counters.jsonl", folder / "out.jsonl"
    plain = build.run(build.command, "run", "-d", "cpu", "--", *command, preload=False, timeout=120,
                      environment={"LYNXPP_CPU_COUNTERS": str(counters), "LYNXPP_CPU_WORDS": "1"})
    if "invalid tensor map" in plain.stderr:
        return None
    expect(re.fullmatch(rb"\S+ CUDA_SUCCESS \w+\n", plain.stdout), f"{path.name} does not run\n{plain}")
    counted, = read_json_lines(counters)
    counters.unlink()
    checks = 0
    for group in groups:
        for _ in range(3):  # an overloaded machine may not provide memory in time, and the kernel runs uninstrumented
            output.unlink(missing_ok=True)
            run = build.run(build.command, "run", "-d", "cpu", "-s", ",".join(group), "-o", output, "--", *command, preload=False, timeout=240)
            if "not enough memory for its counters" not in run.stderr:
                break
        # Tensor maps that a kernel builds in memory contain addresses, which differ between runs.
        holds_addresses = "tensormap.replace.tile.global_address" in path.read_text()
        shown = [each.stdout.rsplit(b" ", 1)[0] if holds_addresses else each.stdout for each in (run, plain)]
        demand_equal(f"output of {path.name} with {', '.join(group)}", (run.status, shown[0]), (0, shown[1]))
        records = Records(read_json_lines(output))
        for entry in records.coverage:
            expect(entry["instrumented"], f"{entry['kernel']} was not instrumented: {entry.get('reason')}\n{run}")
        for spec in group:
            record, = records.by_launch(spec).values()
            if spec == "race_hints":  # Triton lets several warps write the same value, which is hinted at
                continue
            checks += check_counts(spec, records, record, counted)
    return checks


def measure_all(build, program, files, folder, takes_all):
    checks, measured = 0, 0
    for index, path in enumerate(files):
        found = measure(build, program, path, GROUPS if takes_all else [GROUPS[index % len(GROUPS)]], folder)
        measured += found is not None
        checks += found or 0
    expect(checks > measured, "nothing was compared")
    print(f"{measured} kernels compute the same with {'all' if takes_all else 'some'} specifications; {checks} of their results equal the device's")


def main():
    build = Build(sys.argv[1])
    kernels = 0
    with tempfile.TemporaryDirectory() as name:
        files = []
        for path in sorted((HERE / "frameworks").glob("*/*.ptx.gz")):
            files.append(pathlib.Path(name, f"{path.parent.name}.{path.stem}"))
            files[-1].write_bytes(gzip.decompress(path.read_bytes()))
        if sys.argv[3] != "load":
            return measure_all(build, sys.argv[2], files, pathlib.Path(name), sys.argv[3] == "all")
        checked = subprocess.run([build.folder / "bin/lynxpp_check_ptx", *files], capture_output=True, text=True)
        demand_equal(f"status of lynxpp_check_ptx: {checked.stderr}", checked.returncode, 0)
        for path in files:
            kernels += launch(build, sys.argv[2], path)
    demand_equal("kernels", kernels, KERNELS)
    print(f"{kernels} kernels load")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
