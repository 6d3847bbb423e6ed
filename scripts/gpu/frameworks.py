"""Programs of PyTorch, Triton, JAX, CuPy and Numba under lynxpp: unaffected, and their kernels counted or
explained."""
import collections
import concurrent.futures
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

from common import Findings, TestFailure

PROGRAMS = pathlib.Path(__file__).resolve().parent / "frameworks"
MODULES = {"torch": "torch", "triton": "triton", "jax": "jax", "cupy": "cupy", "numba": "numba"}
ENVIRONMENT = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}  # without it PyTorch's products may differ from run to run
IMPORTS = 15
NOTHING_MEASURED = 3  # exit status of `lynxpp run` if no launch was instrumented
AT_ONCE = 4  # parallel programs; most of their time is compilation on the host


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def reasons(coverage):
    """Returns {reason: launches} for the launches that were not instrumented."""
    found = collections.Counter()
    for entry in coverage:
        missed = entry["launches"] - entry["instrumented_launches"]
        if missed:
            found[entry["reason"] or "no reason given"] += missed
    return found


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def share_of_time(run, counted, launches):
    """Returns the share of GPU time that was counted, as estimated by lynxpp; all or nothing needs no
    estimate."""
    said = re.search(rb"Counted: (\S+(?: %)?) of GPU time", run.stderr if isinstance(run.stderr, bytes) else run.stderr.encode())
    return said.group(1).decode() if said else "100 %" if launches and counted == launches else "not known"


def try_program(package, python, program, findings):
    """Returns the table row for one program, started like by a user; problems become failures."""
    plain = package.build.run(python, program, preload=False, environment=ENVIRONMENT)
    if plain.status != 0:
        findings.say(f"{program.stem}: does not run here without lynxpp: {plain.stderr.strip().splitlines()[-1:]}")
        return None
    beside = package.build.run(python, program, environment=ENVIRONMENT)
    run, records = package.build.measure_by_command(python, program, spec="instruction_count", environment={**ENVIRONMENT, "LYNXPP_TIMING": "1"})
    for what, each in (("preloaded", beside), ("instrumented", run)):
        if each.status not in ((0, NOTHING_MEASURED) if each is run else (0,)) or each.stdout != plain.stdout:
            findings.fail(f"{program.stem}, {what}: the output differs or the program failed; alone it prints {plain.stdout!r}\n{each}")
    launches = sum(entry["launches"] for entry in records.coverage)
    counted = sum(entry["instrumented_launches"] for entry in records.coverage)
    why = reasons(records.coverage)
    findings.data[program.stem] = {"launches": launches, "counted": counted, "reasons": dict(why)}
    return [program.stem, len(records.coverage), launches, counted, share(counted, launches), share_of_time(run, counted, launches),
            "; ".join(f"{count}: {reason}" for reason, count in why.most_common())]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def import_times(package, python, findings):
    """Pairs of imports, alternately without and with the library first: differences within pairs are more
    reliable than medians."""
    package.build.run(python, "-c", "import torch", preload=False)  # caches the files
    times, processor = collections.defaultdict(list), collections.defaultdict(list)
    for pair in range(IMPORTS):
        for preload in (pair % 2 == 1, pair % 2 == 0):
            began, used = time.perf_counter(), processor_seconds()
            package.build.run(python, "-c", "import torch", preload=preload)
            times[preload].append(time.perf_counter() - began)
            processor[preload].append(processor_seconds() - used)
    for what, each in (("time", times), ("processor time", processor)):
        ratio = statistics.median(beside / alone for alone, beside in zip(each[False], each[True]))
        findings.say(f"`import torch`, {what}: median {statistics.median(each[False]):.3f} s alone, {statistics.median(each[True]):.3f} s with the preload "
                     f"library; median ratio of {IMPORTS} pairs {ratio:.4f}; fastest {min(each[False]):.3f} and {min(each[True]):.3f} s")


def frameworks(package, apps, budget):
    """Programs of PyTorch, Triton, JAX, CuPy and Numba: unaffected, and their kernels counted or explained."""
    findings = Findings("frameworks", frameworks.__doc__)
    python = os.environ.get("LYNXPP_PYTHON") or shutil.which("python3") or sys.executable
    there = {module for module in MODULES.values() if has(python, module)}
    began = time.monotonic()

    def try_one(program):
        module = program.stem.split("_")[0]
        if module not in there:
            findings.say(f"{program.stem}: left out, {python} has no {module}")
        elif time.monotonic() - began > budget:
            findings.say(f"{program.stem}: left out, the time was up")
        else:
            try:
                return try_program(package, python, program, findings)
            except TestFailure as failure:
                findings.fail(f"{program.stem}: {failure}")
        return None

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        rows = list(pool.map(try_one, sorted(PROGRAMS.glob("*.py"))))
    if "torch" in there:
        import_times(package, python, findings)
    rows = [row for row in rows if row]
    findings.table("Programs, their kernels and launches", ["program", "kernels", "launches", "counted", "share", "share of GPU time", "not counted: why"], rows)
    for row in rows:
        findings.say(f"{row[0]}: {row[3]} of {row[2]} launches counted, {row[5]} of GPU time; {row[6]}")
    return findings
