#!/usr/bin/env python3
"""Compares what the cpu device computes, counts and finds with a GPU and with compute-sanitizer.

usage: two_verdicts.py kernels HOME [--out FOLDER]
       two_verdicts.py faults HOME PROGRAMS [--out FOLDER]

HOME is an installation or a build folder, PROGRAMS the folder of the programs check_* (build/release/examples/tests).

kernels   launches each kernel of tests/corpus/frameworks on the cpu device and on the GPU with the same arguments
          (tests/corpus/kernels.py), and compares the arrays bit by bit, and the counts of SPECIFICATIONS. About 60 s.
faults    runs each seeded fault of asynchronous operations (tests/end_to_end/checks), and the repaired twins together, under
          `lynxpp check-run` and, on the GPU, under tools of compute-sanitizer, which faults that hang do not reach. About 100 s
          with 16 cores.

`--device cpu` runs the first part without a GPU, to test this script. Writes FOLDER/kernels.csv or FOLDER/faults.csv, and prints a summary. Exit status: 0; 1 if a kernel has other results than its
reference, exact kernels differ, or counts that must be equal are not; 3 without a GPU.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("python", "tests/corpus", "tests/end_to_end", "scripts/gpu")]
from common import gpu  # noqa: E402

SPECIFICATIONS = ("instruction_count", "memory_efficiency", "opcode_mix")
# Depends on addresses, which are not the same on both devices.
NOT_COMPARED = re.compile(r"sector|hottest|line")
TOOLS = ("memcheck", "racecheck", "synccheck")
SECONDS = 20  # of a program under a tool
HANGS = "endless barrier"


# --- The kernels of frameworks

def distance(kind, one, other):
    """Returns the greatest difference of two arrays' elements, relative to elements above 1; 0 if the bytes are equal."""
    from lynxpp import elements
    if one == other:
        return 0.0
    pairs = zip(elements.unpack(kind, one), elements.unpack(kind, other))
    return max((abs(a - b) / max(1, abs(a)) if a == a and b == b else float("inf") for a, b in pairs if a != b and (a == a or b == b)), default=0.0)


def counts_of(run):
    """Returns {specification: {name: numbers}} of the results that must be equal on both devices."""
    found = collections.defaultdict(dict)
    for record, _ in run:
        if record["record"] == "launch":
            for name, value in record.get("results", {}).items():
                if not NOT_COMPARED.search(name):
                    found[record["spec"]][name] = value
    return found


def launched(case, device):
    """Returns the launch after it ran with results only, and the counts of each specification."""
    import lynxpp
    from kernel_results_test import Launch

    def run_on(text, grid, block, values, **options):
        return lynxpp.run_ptx(text, grid, block, values, device=device, timeout=60, **options)
    launch = Launch(case)
    launch.run(run_on)
    counts = {}
    for name in SPECIFICATIONS:
        counts.update(counts_of(Launch(case).run(lambda *words, **options: run_on(*words, spec=name, **options))))
    return launch, counts


def kernel_row(case, device):
    import lynxpp
    row = {"kernel": case.name}
    try:
        (cpu, cpu_counts), (cuda, cuda_counts) = launched(case, "cpu"), launched(case, device)
    except lynxpp.Error as problem:
        return {**row, "problem": " ".join(str(problem).split())[:300]}
    wrong = cuda.differences()
    # u8: memory for tensor maps, which contain addresses.
    distances = [distance(array.type, array.data, cuda.arrays[number].data) for number, array in cpu.arrays.items() if array.type != "u8"]
    differing = sorted(f"{spec}.{name}" for spec, results in cpu_counts.items() for name, value in results.items()
                       if cuda_counts.get(spec, {}).get(name) != value)
    return {**row, "identical": "yes" if not any(distances) else "no", "greatest_difference": f"{max(distances, default=0):.3g}",
            "gpu_right": "no" if wrong else "yes", "counts_compared": sum(map(len, cpu_counts.values())), "counts_differing": " ".join(differing),
            "problem": "; ".join(wrong)[:300]}


def compare_kernels(options):
    os.environ["LYNXPP_HOME"] = str(pathlib.Path(options.home).resolve())
    sys.argv = [sys.argv[0], options.home]  # kernel_results_test reads it
    from kernels import CASES, EXACT
    rows = [kernel_row(case, options.device) for case in CASES]
    columns = ("kernel", "identical", "greatest_difference", "gpu_right", "counts_compared", "counts_differing", "problem")
    write(options.out / "kernels.csv", columns, rows)
    exact = {case.name for case in CASES if case.tolerance == EXACT}
    bad = [row for row in rows if row.get("gpu_right") != "yes" or row["counts_differing"] or (row["kernel"] in exact and row["identical"] == "no")]
    print(f"kernels: {sum(row.get('identical') == 'yes' for row in rows)} of {len(rows)} bit-identical, "
          f"{sum(row.get('gpu_right') == 'yes' for row in rows)} right on the GPU, "
          f"{sum(row.get('counts_differing') == '' for row in rows)} with equal counts")
    for row in rows:
        if row.get("identical") != "yes" or row in bad:
            print(" ", row)
    return 1 if bad else 0


# --- The seeded faults

def findings_of(home, program, cases):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "findings.jsonl")
        subprocess.run([home / "bin" / "lynxpp", "check-run", "-o", output, "--", program, *cases], capture_output=True, timeout=300)
        lines = output.read_text().splitlines() if output.exists() else []
    found = [json.loads(line) for line in lines]
    return sorted({each["kind"] for each in found if "kind" in each})


def verdict_of(tool, program, cases):
    """Returns what a tool of compute-sanitizer says: "none", the number of errors and warnings, "hangs" or "no verdict"."""
    command = ["compute-sanitizer", "--tool", tool, program, *cases]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return "hangs"
        output.seek(0)
        text = output.read().decode(errors="replace")
    # ERROR SUMMARY: 64 errors; RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
    summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)", text)
    if summary is None:
        return "no verdict"
    return "none" if summary[1] == "0" else summary[1]


def jobs_of(program):
    """Returns (name, cases, expected kinds) for each fault, and for all repaired twins together."""
    from checks_test import SOURCES, expected_of
    expected = {case: {kind for kind, _ in found} for case, found in expected_of(SOURCES / f"{program}.cu").items()}
    right = [case for case, kinds in expected.items() if not kinds]
    return [(case, [case], kinds) for case, kinds in expected.items() if kinds] + [(f"all {len(right)} twins", right, set())]


def compare_faults(options):
    home, programs = pathlib.Path(options.home).resolve(), pathlib.Path(options.programs).resolve()
    jobs = [(program, *job) for program in ("async_loads", "async_stores", "tensor_copies") for job in jobs_of(program)]

    def row_of(job):
        name, title, cases, expected = job
        program = programs / f"check_{name}"
        verdicts = {tool: "not run: it hangs" if HANGS in expected else verdict_of(tool, program, cases) for tool in TOOLS}
        return {"program": name, "case": title, "fault": ", ".join(sorted(expected)) or "none",
                "check_run": ", ".join(findings_of(home, program, cases)) or "none", **verdicts}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(row_of, jobs))
    write(options.out / "faults.csv", ("program", "case", "fault", "check_run", *TOOLS), rows)
    faults, twins = ([row for row in rows if (row["fault"] == "none") == is_right] for is_right in (False, True))
    ran = [row for row in faults if HANGS not in row["fault"]]
    print(f"{len(faults)} faults: check-run finds {sum(row['check_run'] != 'none' for row in faults)}; of {len(ran)} that do not hang, compute-sanitizer "
          f"reports {sum(any(row[tool] not in ('none', 'no verdict') for tool in TOOLS) for row in ran)}"
          f" ({', '.join(f'{tool} ' + str(sum(row[tool] not in ('none', 'no verdict') for row in ran)) for tool in TOOLS)})")
    for row in twins:
        print(f"{row['program']}, {row['case']}: check-run {row['check_run']}; {', '.join(f'{tool} {row[tool]}' for tool in TOOLS)}")
    return 0


def write(path, columns, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("part", choices=("kernels", "faults"))
    parser.add_argument("home")
    parser.add_argument("programs", nargs="?")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--jobs", type=int, default=12)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.device == "cuda" and gpu() is None:
        print("no GPU", file=sys.stderr)
        return 3
    return compare_kernels(options) if options.part == "kernels" else compare_faults(options)


if __name__ == "__main__":
    sys.exit(main())
