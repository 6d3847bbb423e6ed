"""Kernels that no parameter of a model was fitted to: how well `lynxpp advise -- PROGRAM` orders their variants on a
GPU. A section of the part `cumapz` of scripts/gpu-check; examples/cumapz/held_out.cu has the kernels.

The rule, written down before the first measurement: PolyBench/GPU's programs in alphabetical order, of each the loop
nest with the most arithmetic (of equal ones the first), without nests equal to an earlier program's (3MM and GEMM
equal 2MM, COVAR equals CORR) and without programs whose result needs several dependent launches, until there are
eight. The variants are the same for all kernels of one kind: three shapes of thread blocks, the roles of x and y
exchanged, and data that a block reads repeatedly in shared memory (for a thread per row without and with padding).
A benchmark counts if its slowest variant takes at least 5 % longer than its fastest.
"""
import json
import math
import statistics
import subprocess
import time

from common import TestFailure

# By number: name, and N on the cpu device and on a GPU, where matrices do not fit in the L2 cache except those of
# products; 4,096 rows are the most for which all accesses of a thread block are observed.
KERNELS = [("2DCONV", 128, 8192), ("2MM", 64, 2048), ("3DCONV", 32, 384), ("ATAX", 256, 4096), ("BICG", 256, 4096), ("CORR", 64, 2048),
           ("FDTD-2D", 128, 4096), ("GESUMMV", 256, 4096)]
VARIANTS = {"BICG": 4}  # of the others 5
DIFFERENT = 1.05        # slowest over fastest


def advised(benchmarks, program, arguments, device):
    """Returns the prediction of `lynxpp advise -- PROGRAM` for the only kernel."""
    command = [benchmarks.build.command, "advise", "-d", device, "-m", benchmarks.machine, "--json", "--blocks", 16, "--", program, *arguments]
    run = benchmarks.run(*command, preload=False)
    lines = [line for line in run.stdout.decode().splitlines() if line.startswith("{")]
    if run.status != 0 or len(lines) != 1:
        raise TestFailure(str(run))
    return json.loads(lines[0])


def variants(benchmarks, number, size, until, milliseconds, repeat):
    """Returns [(variant, prediction, milliseconds or None)] of one benchmark."""
    name, *_ = KERNELS[number]
    found = []
    for variant in range(VARIANTS.get(name, 5)):
        if time.monotonic() > until:
            benchmarks.findings.fail(f"{name} {variant}: no time was left")
            continue
        arguments = [f"benchmark={number}", f"variant={variant}", f"N={size}"]
        folder = benchmarks.build.examples / "cumapz"
        try:
            prediction = advised(benchmarks, folder / "held_out", arguments, benchmarks.device)
            taken = None
            if benchmarks.device == "cuda":
                run = benchmarks.run(folder / "held_out", *arguments, preload=False, environment={"EXAMPLE_REPEAT": str(repeat)})
                taken = milliseconds(run, "held_out")[0]
        except (TestFailure, subprocess.SubprocessError) as failure:
            benchmarks.findings.fail(f"{name} {variant}: {failure}")
            continue
        found.append((variant, prediction, taken))
    return found


def held_out(benchmarks, until, milliseconds, pearson, spearman, repeat=10):
    """Adds a table and lines to the findings."""
    findings, rows, correlations, ratios, lost = benchmarks.findings, [], {}, [], []
    findings.data["held_out"] = {}
    for number, (name, small, large) in enumerate(KERNELS):
        found = variants(benchmarks, number, large if benchmarks.device == "cuda" else small, until, milliseconds, repeat)
        findings.data["held_out"][name] = [{"variant": variant, "ms": taken, **{key: prediction[key] for key in ("modelled", "bounds", "references", "blocks_observed", "grid")}}
                                           for variant, prediction, taken in found]
        for variant, prediction, taken in found:
            bounds, terms = prediction["bounds"], prediction["modelled"]
            rows.append([name, variant, f"{bounds['microseconds'] / 1000:.4f}", bounds["by"], f"{terms['estimate']:.4f}", "" if taken is None else f"{taken:.4f}"])
        times = [taken for _, _, taken in found]
        if len(times) < 3 or None in times:
            continue
        ratios += [taken / prediction["bounds"]["microseconds"] * 1000 for _, prediction, taken in found]
        if max(times) < DIFFERENT * min(times):
            findings.say(f"held out, {name}: the variants differ by {100 * (max(times) / min(times) - 1):.1f} % only")
            continue
        speeds = [1 / taken for taken in times]
        modelled = [1 / prediction["bounds"]["microseconds"] for _, prediction, _ in found]
        estimates = [prediction["modelled"]["estimate"] for _, prediction, _ in found]
        correlations[name] = (pearson(modelled, speeds), pearson(estimates, speeds))
        chosen = times[modelled.index(max(modelled))]
        lost.append(chosen / min(times))
        shown = ["-" if each is None else f"{each:.3f}" for each in (*correlations[name], spearman(modelled, speeds))]
        findings.say(f"held out, {name}: slowest over fastest {max(times) / min(times):.3f}; time {shown[0]} (by rank {shown[2]}), estimate {shown[1]}; "
                     f"chosen variant {100 * (lost[-1] - 1):.1f} % slower than the fastest")
    findings.table("held-out kernels", ["benchmark", "variant", "modelled ms", "bound by", "estimate", "ms"], rows)
    for i, what in enumerate(("time", "estimate")):
        known = [each[i] for each in correlations.values() if each[i] is not None]
        if known:
            findings.say(f"held out, {what}: mean correlation of {len(known)} benchmarks {statistics.fmean(known):.3f}")
    if ratios:
        logarithms = [math.log(each) for each in ratios]
        findings.say(f"held out: measured over modelled time of {len(ratios)} variants {math.exp(statistics.fmean(logarithms)):.3f} (geometric mean), "
                     f"{min(ratios):.3f} to {max(ratios):.3f}; chosen variants {100 * (statistics.geometric_mean(lost) - 1 if lost else 0):.1f} % slower than the fastest")
