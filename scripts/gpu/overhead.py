"""The part of scripts/gpu-check that measures the cost of instrumentation, and the phases of a first
instrumented launch."""
import collections
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

from common import Findings, TestFailure
from metrics import PHASES, phase_sums

# Goals for the kernel-time ratios of the ready-made specifications, as geometric means.
GOALS = {"kernel_runtime": 1.01, "instruction_count": 1.03, "basic_block_count": 1.06, "opcode_mix": 1.05,
         "branch_divergence": 1.08, "memory_efficiency": 1.20, "shared_bank_conflicts": 1.25}
# Milliseconds below which a kernel does not count for the goal: a clock read costs blocks several
# microseconds more.
LEAST = {"kernel_runtime": 0.1}

# Problem sizes for timing: kernels that take at least about 100 µs if the program allows it.
SIZES = {"vecadd": 1 << 25, "matmul": 1024, "reduction": 1 << 26, "mandelbrot": 4096, "histogram": 1 << 24, "symbols": 1 << 23,
         "divergence": 1 << 21, "transpose": 6144, "spmv": 1 << 20, "scan": 1 << 20, "nbody": 8192, "streams": 1 << 23, "strides": 1 << 18, "layouts": 1 << 22, "stencil": 8192, "bitonic": 1 << 23, "bfs": 1 << 20, "banks": 1 << 13,
         "interpreter": 1 << 22, "jacobi": 4096, "em": 1 << 17, "binomial": 1024,
         "cocluster": 2048, "dxtc": 256, "partitions": 16, "electrostatics": 1024, "cliques": 200000}
CPU_SIZES = {"vecadd": 4096}  # for a dry run
REPEAT = 20     # launches of each kernel in a run
SKIPPED = 6     # first launches of a kernel: other shapes, and warm-up


def bench(package, app, specs, rounds, folder):
    """Runs `lynxpp bench` on one program: every specification and the native run."""
    output = pathlib.Path(folder, f"{app}.json")
    is_gpu = package.device == "cuda"
    size = (SIZES if is_gpu else CPU_SIZES).get(app)
    command = ["bench", "-d", package.device, "-r", rounds, "-o", output]
    command += ["-l", f"{SKIPPED}-"] if is_gpu else []
    for spec in specs:
        command += ["-s", spec]
    command += ["--", package.program(app)] + ([size] if size else [])
    environment = {"EXAMPLE_REPEAT": str(REPEAT)} if is_gpu else {}
    run = package.run(package.build.command, *command, preload=False, environment=environment)
    if run.status != 0:
        raise TestFailure(str(run))
    return json.loads(output.read_text())


def phases(package, apps, findings):
    """Returns the milliseconds of the stages of the first instrumented launch of each program's kernels."""
    rows = []
    for app in apps:
        run, records = package.measure(package.program(app), spec="instruction_count_per_thread", environment={"LYNXPP_TIMING": "1"})
        if run.status != 0:
            findings.fail(f"{app}: no phases\n{run}")
            continue
        sums = phase_sums(records)
        rows.append([app, len(records.timing)] + [f"{value:.3f}" for value in sums])
        findings.data["phases"][app] = sums
    findings.table("Phases of a run (milliseconds, instruction_count_per_thread, all kernels of the program at its standard size)",
                   ["program", "kernels", *PHASES], rows)


def add_measured(kernels, app, measured, findings):
    """Returns the results of one program's `lynxpp bench`, kernel by kernel."""
    found = {}
    for setting in measured["settings"]:
        if not setting["same_output"]:
            findings.fail(f"{app} with {setting['spec']}: the output changed")
        for kernel in setting["kernels"]:
            entry = found.setdefault(kernel["kernel"], {"program": app, "kernel": kernel["demangled"].split("(")[0], "native_ms": kernel["native_ms"],
                                                        "ratios": {}, "resources": {}})
            entry["ratios"][setting["spec"]] = [kernel["ratio"], kernel["least_ratio"], kernel["most_ratio"]]
            entry["resources"][setting["spec"]] = [kernel.get("original"), kernel.get("variant")]
    kernels += sorted(found.values(), key=lambda entry: -entry["native_ms"])
    return len(found)


def judge(kernels, spec):
    """Returns whether the specification meets its goal, over the kernels that count for it."""
    least = LEAST.get(spec, 0)
    ratios = [entry["ratios"][spec][0] for entry in kernels if spec in entry["ratios"] and entry["native_ms"] >= least]
    if not ratios:
        return "no kernel runs long enough"
    mean = statistics.geometric_mean(ratios)
    return ("met" if mean <= GOALS[spec] else "MISSED") + (f": {mean:.3f} over {len(ratios)} of {1000 * least:.0f} µs or more" if least else "")


def tell(findings, specs, is_gpu):
    """Adds tables and lines of the measurements; the goals are for a GPU."""
    kernels, summary = findings.data["kernels"], []
    for spec in specs:
        found = [(entry["ratios"][spec][0], entry["program"], entry["kernel"]) for entry in kernels if spec in entry["ratios"]]
        if not found:
            continue
        mean, worst = statistics.geometric_mean(ratio for ratio, _, _ in found), max(found)
        verdict = [f"{GOALS[spec]:.3f}", judge(kernels, spec)] if is_gpu and spec in GOALS else ["", ""]
        summary.append([spec, f"{mean:.3f}", *verdict,
                        f"{worst[0]:.3f}", f"{worst[1]}: {worst[2]}", len(found)])
    rows = [[entry["program"], entry["kernel"], f"{1000 * entry['native_ms']:.1f}"] +
            [f"{entry['ratios'][spec][0]:.3f}" if spec in entry["ratios"] else "" for spec in specs] for entry in kernels]
    findings.table("Geometric means of the kernel-time ratios", ["specification", "measured", "goal", "", "worst", "where", "kernels"], summary)
    findings.table("Every kernel: native microseconds of a launch, then ratios", ["program", "kernel", "native µs"] + list(specs), rows)
    findings.table("Registers of a thread and warps on an SM, native to instrumented", ["program", "kernel"] + list(specs), resources(kernels, specs))
    for row in summary:
        findings.say(f"{row[0]}: {row[1]}" + (f" (goal {row[2]}, {row[3]})" if row[2] else "") + f", worst {row[4]} in {row[5]}, {row[6]} kernels")


def overhead(package, apps, budget, rounds=3, specs=None, keep=lambda findings: None):
    """Kernel times with every specification over the native ones, side by side in every round.

    `keep` receives the results after each program."""
    findings = Findings("overhead", overhead.__doc__.splitlines()[0])
    specs = specs or package.specs
    findings.data = {"kernels": [], "phases": {}, "specs": specs, "device": package.device}
    began, left_out, longest = time.monotonic(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for app in apps:
            at = time.monotonic()
            if at - began + longest > budget:  # it would end too late
                left_out.append(app)
                continue
            try:
                measured = bench(package, app, specs, rounds, folder)
            except (TestFailure, subprocess.SubprocessError) as failure:
                findings.fail(f"{app}: {failure}")
                continue
            count = add_measured(findings.data["kernels"], app, measured, findings)
            longest = max(longest, time.monotonic() - at)
            print(f"{app}: {count} kernels, {time.monotonic() - began:.0f} s", flush=True)
            keep(findings)
    tell(findings, specs, package.device == "cuda")
    if left_out:
        findings.say(f"not measured, the time was up: {', '.join(left_out)} (--apps {','.join(left_out)})")
    phases(package, [app for app in apps if app not in left_out], findings)
    return findings


def merged(files):
    """Returns (findings, machine) of several runs of this part over different programs; of repeated programs,
    the last counts."""
    findings = Findings("overhead", overhead.__doc__.splitlines()[0])
    parts = [json.loads(file.read_text()) for file in files]
    specs = list(dict.fromkeys(spec for part in parts for spec in part["data"]["specs"]))
    findings.data = {"kernels": [], "phases": {}, "specs": specs, "device": parts[-1]["data"]["device"]}
    for part in parts:
        again = {entry["program"] for entry in part["data"]["kernels"]}
        findings.data["kernels"] = [entry for entry in findings.data["kernels"] if entry["program"] not in again] + part["data"]["kernels"]
        findings.data["phases"].update(part["data"]["phases"])
        findings.failures += part["failures"]
    findings.data["kernels"].sort(key=lambda entry: (entry["program"], -entry["native_ms"]))
    tell(findings, specs, findings.data["device"] == "cuda")
    return findings, "; ".join(dict.fromkeys(part["machine"] for part in parts))


def resources(kernels, specs):
    rows = []
    for entry in kernels:
        cells = []
        for spec in specs:
            original, variant = entry["resources"].get(spec, [None, None])
            cells.append(f"{original['registers']}→{variant['registers']}, {original['warps_per_sm']}→{variant['warps_per_sm']}" if original and variant else "")
        if any(cells):
            rows.append([entry["program"], entry["kernel"]] + cells)
    return rows


def launch(package, apps, budget):
    """The preload library's cost for the host: a launch of an empty kernel, and the start of a process that does not use CUDA."""
    findings = Findings("launch", launch.__doc__)
    settings = {"native": {"preload": False}, "preload, no specification": {},
                "attached, kernel not wanted": {"spec": "instruction_count", "environment": {"LYNXPP_KERNELS": "no_such_kernel"}},
                "instrumented (instruction_count)": {"spec": "instruction_count"}}
    times, starts = collections.defaultdict(list), collections.defaultdict(list)
    for _ in range(7 if package.device == "cuda" else 0):  # side by side: each round has every setting
        for name, setting in settings.items():
            run = package.run(package.build.examples / "launch_rate", 10000 if name.startswith("instr") else 100000, **setting)
            if run.status != 0:
                findings.fail(f"launch_rate ({name})\n{run}")
                return findings
            times[name].append(float(run.stdout))
    for _ in range(150):
        for preload in (False, True):
            began = time.perf_counter()
            package.run("/bin/true", preload=preload)
            starts[preload].append(1000 * (time.perf_counter() - began))
    native = statistics.median(times["native"]) if times else 0
    findings.table("Host time of one launch of an empty kernel (nanoseconds)", ["setting", "median", "least", "most", "ratio"],
                   [[name, f"{statistics.median(found):.0f}", f"{min(found):.0f}", f"{max(found):.0f}", f"{statistics.median(found) / native:.3f}"]
                    for name, found in times.items()])
    for name, found in times.items():
        findings.say(f"{name}: {statistics.median(found):.0f} ns")
    findings.say(f"`/bin/true`: {statistics.median(starts[False]):.3f} ms without the preload library, {statistics.median(starts[True]):.3f} ms with it")
    findings.data = {"launch_ns": times, "start_ms": {"without": starts[False], "with": starts[True]}}
    return findings
