"""The part of scripts/gpu-check that compares with NVIDIA's profiler, counter by counter and kernel by kernel."""
import collections
import csv
import io
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from common import Findings, TestFailure, total

# For each quantity: the profiler's metrics, added up; the cpu device's counter, if it has one; the
# specification and its results, added up (the first set of names that the record contains).
QUANTITIES = {
    "global load requests": (["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"], ["global", "loads", "requests"],
                             "memory_efficiency", [["load_requests"]]),
    "global load sectors": (["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], ["global", "loads", "sectors"],
                            "memory_efficiency", [["load_sectors"]]),
    "global store requests": (["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"], ["global", "stores", "requests"],
                              "memory_efficiency", [["store_requests"]]),
    "global store sectors": (["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"], ["global", "stores", "sectors"],
                             "memory_efficiency", [["store_sectors"]]),
    "shared load wavefronts": (["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"], ["shared", "loads", "wavefronts"],
                               "shared_bank_conflicts", [["load_wavefronts"]]),
    "shared store wavefronts": (["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"], ["shared", "stores", "wavefronts"],
                                "shared_bank_conflicts", [["store_wavefronts"]]),
    "branches": (["smsp__inst_executed_op_branch.sum"], ["branches", "warps"], "branch_divergence", [["total_branches"]]),
    "divergent branches": (["smsp__sass_branch_targets_threads_divergent.sum"], ["branches", "divergent"],
                           "branch_divergence", [["total_divergent"]]),
}
STATIC_OF = {"global load": "global loads", "global stor": "global stores", "shared load": "shared loads", "shared stor": "shared stores",
             "branches": "branches", "divergent b": "branches"}


STATIC = {"global loads": (r"\bld(\.\w+)*\.global|\bcp\.async\.c[ag]\.", r"\bLDG"), "global stores": (r"\bst(\.\w+)*\.global", r"\bSTG"),
          "shared loads": (r"\bld(\.\w+)*\.shared", r"\bLDS\b|\bLDS\."), "shared stores": (r"\bst(\.\w+)*\.shared", r"\bSTS"),
          "branches": (r"\bbra\b|\bbra\.", r"\bBRA\b"),
          "bulk copies": (r"\bcp\.(?:reduce\.)?async\.bulk\.(?!commit|wait|prefetch)", r"\bUBLK|\bUTMA")}


def tool(name):
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def static_counts(ptx_file):
    """Returns {kernel: {what: [in the PTX, in the machine code of sm_90]}}: reasons for different dynamic
    counts. Empty without the toolkit."""
    if not tool("ptxas") or not tool("cuobjdump") or not ptx_file.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder, "code.cubin")
        if subprocess.run([tool("ptxas"), "-arch=sm_90", ptx_file, "-o", cubin], capture_output=True).returncode != 0:
            return {}
        sass = subprocess.run([tool("cuobjdump"), "-sass", cubin], capture_output=True, text=True).stdout
    machine = {part.split("\n", 1)[0].strip(): part for part in sass.split("Function :")[1:]}
    counts = {}
    text = ptx_file.read_text()
    for kernel, body in re.findall(r"\.entry\s+(\w+)\s*\(.*?\n\{(.*?)\n\}", text, re.S):
        code = machine.get(kernel, "")
        # The branch to itself after the end of every kernel is never executed.
        counts[kernel] = {what: [len(re.findall(ptx, body)), len(re.findall(pattern, code)) - (1 if what == "branches" else 0)]
                          for what, (ptx, pattern) in STATIC.items()}
    return counts


def known_metrics(ncu):
    """Returns the metrics that this profiler supports, without their suffixes; empty if it does not report
    them."""
    query = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True)
    return {line.split()[0] for line in query.stdout.splitlines() if line[:1].isalpha() and "__" in line.split()[0]} if query.returncode == 0 else set()


def read_profile(text):
    """Returns {mangled kernel: [{metric: count}, …]} from `ncu --csv --page raw`, launch by launch."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return {}
    launches = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        if not (row.get("ID") or "").strip():
            continue  # the line of units
        counts = {}
        for name, value in row.items():
            try:
                counts[name] = float(value.replace(",", "")) if name and "__" in name and value else None
            except ValueError:
                counts[name] = None
        launches[row["Kernel Name"]].append(counts)
    return launches


def profile(package, ncu, command, metrics, kernels=()):
    """Returns the profiler's counts of the kernels that a command launches, or only of `kernels`."""
    chosen = ["--kernel-name", f"regex:^({'|'.join(kernels)})$"] if kernels else []
    command = [ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-kernel-base", "mangled", "--metrics", ",".join(metrics),
               "--target-processes", "all", *chosen, *command]
    run = package.run(command[0], *command[1:], preload=False)
    launches = read_profile(run.stdout.decode(errors="replace"))
    if not launches:
        raise TestFailure(f"the profiler returned nothing\n{run}")
    return launches


def of_cpu(launches, path):
    value = 0
    for launch in launches:
        node = launch
        for step in path:
            node = node.get(step) if isinstance(node, dict) else None
        if node is None:
            return None
        value += node
    return value


def of_spec(records, kernel, spec, candidates):
    """Returns the specification's results over all launches of the kernel; `None` if it has none of these."""
    found = [record["results"] for record in records.launches if record["kernel"] == kernel and record["spec"] == spec]
    for names in candidates:
        if found and all(name in results for results in found for name in names):
            return sum(total(results[name]) for results in found for name in names)
    return None


def reason(quantity, static, profiler_count, ours):
    """Returns why the machine code differs from the PTX, as far as both texts show."""
    if ours is None or profiler_count == ours:
        return ""
    ptx, sass = next((static[value] for key, value in STATIC_OF.items() if quantity.startswith(key) and value in static), (None, None))
    if quantity.startswith("divergent") or quantity == "branches":
        return f"{ptx} branches in the PTX, {sass} in the machine code: ptxas predicates short ones, unrolls loops and adds reconvergence branches" if ptx is not None else ""
    bulk = static.get("bulk copies", [0])[0]
    if bulk and quantity.startswith("global"):
        return f"{bulk} bulk copies in the PTX, which these counters of the profiler omit"
    if ptx is None or ptx == sass:
        return "equally many in the PTX and in the machine code"
    return f"{ptx} instructions in the PTX, {sass} in the machine code: ptxas joined, removed or unrolled them"


class Comparison:
    """Collects the table rows: every kernel and quantity that both the profiler and lynxpp have counted."""

    def __init__(self):
        self.rows, self.kernels = [], 0
        self.tally = collections.defaultdict(lambda: [0, 0])

    def add(self, app, profiled, records, expected, static):
        for kernel, launches in profiled.items():
            self.kernels += 1
            on_cpu = [launch for launch in expected if launch["kernel"] == kernel]
            for quantity, (names, path, spec, candidates) in QUANTITIES.items():
                if any(launch.get(name) is None or math.isnan(launch[name]) for launch in launches for name in names):
                    continue
                count = int(sum(launch[name] for launch in launches for name in names))
                ours = of_spec(records, kernel, spec, candidates) if records else None
                cpu = of_cpu(on_cpu, path) if on_cpu and len(on_cpu) == len(launches) else None
                compared = ours if ours is not None else cpu
                if compared is None or (count == 0 and compared == 0):
                    continue
                self.tally[quantity][0] += 1
                self.tally[quantity][1] += count == compared
                difference = "equal" if count == compared else f"{100 * (compared - count) / count:+.2f} %" if count else "not in the machine code"
                self.rows.append([app, kernel, quantity, f"{count:,}", "" if ours is None else f"{int(ours):,}", "" if cpu is None else f"{int(cpu):,}",
                                  difference, reason(quantity, static.get(kernel, {}), count, compared)])


# Python programs and their own kernels.
TRITON = {"triton_memory": ("softmax_rows", "multiply", "normalize", "attend")}


def triton(package, profiler, metrics, specs, findings, comparison):
    """Triton kernels, whose loads are copies and whose operands are loaded by ldmatrix."""
    python = os.environ.get("LYNXPP_PYTHON") or shutil.which("python3") or sys.executable
    if subprocess.run([python, "-c", "import triton, torch"], capture_output=True).returncode != 0:
        findings.say(f"{python} has no Triton: its kernels were not compared")
        return
    for name, kernels in TRITON.items():
        program = pathlib.Path(__file__).resolve().parent / "frameworks" / f"{name}.py"
        try:
            # Not with the package's libraries: Python finds its own.
            profiled = profile(package.build, profiler, [python, program], metrics, kernels)
            run, records = package.build.measure(python, program, spec=",".join(specs))
        except (TestFailure, subprocess.SubprocessError) as failure:
            findings.fail(f"{name}: {failure}")
            continue
        if run.status != 0:
            findings.fail(f"{name}: {run}")
        comparison.add(name, profiled, records, [], {})


def ncu(package, apps, budget):
    """The profiler's counters of the machine code compared with the counts of the specifications and the cpu device in the PTX."""
    findings = Findings("ncu", ncu.__doc__)
    profiler = tool("ncu")
    if profiler is None:
        findings.say("ncu is not installed: nothing was compared")
        return findings
    known = known_metrics(profiler)
    wanted = {metric for metrics, *_ in QUANTITIES.values() for metric in metrics}
    metrics = sorted(metric for metric in wanted if not known or metric.rsplit(".", 1)[0] in known)
    if missing := sorted(wanted - set(metrics)):
        findings.say(f"this profiler has no {', '.join(missing)}")
    specs = sorted({spec for _, _, spec, _ in QUANTITIES.values() if spec in package.specs})
    began, left_out, comparison = time.monotonic(), [], Comparison()
    if specs:
        triton(package, profiler, metrics, specs, findings, comparison)
    # The program with asynchronous copies first: the time may be up before the others run.
    for app in sorted(apps, key=lambda each: each != "copies"):
        if time.monotonic() - began > budget:
            left_out.append(app)
            continue
        try:
            profiled = profile(package, profiler, [package.program(app)], metrics)
            run, records = package.measure(package.program(app), spec=",".join(specs)) if specs else (None, None)
        except (TestFailure, subprocess.SubprocessError) as failure:
            findings.fail(f"{app}: {failure}")
            continue
        comparison.add(app, profiled, records, package.expected["apps"][app]["launches"], static_counts(package.build.examples / f"{app}.ptx"))
        print(f"{app}: {len(profiled)} kernels, {time.monotonic() - began:.0f} s", flush=True)
    findings.table("By quantity", ["quantity", "kernels", "equal to the profiler's"], [[name, *counts] for name, counts in comparison.tally.items()])
    findings.table("Every kernel, over its launches", ["program", "kernel", "quantity", "ncu", "lynxpp", "cpu device", "difference", "reason"],
                   comparison.rows)
    findings.say(f"{comparison.kernels} kernels; " + "; ".join(f"{name}: {equal} of {count} equal" for name, (count, equal) in comparison.tally.items()))
    if left_out:
        findings.say(f"not profiled, the time was up: {', '.join(left_out)} (--apps {','.join(left_out)})")
    findings.data = {"rows": comparison.rows}
    return findings
