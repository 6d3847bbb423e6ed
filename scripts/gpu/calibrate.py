"""The part of scripts/gpu-check that calibrates the GPU for `lynxpp band` and `lynxpp quality` and measures
programs for both.

Steps run one after the other, each within its own time and all within the budget; results are written after
each, so that a step that hangs or fails does not lose the others' tables. On the cpu device the sizes are
small, the machine is compute_1_3, and nothing is compared with the profiler.
"""
import json
import math
import pathlib
import re
import tempfile
import time

from common import Findings, TestFailure
from profiler import read_profile, tool

EQUATIONS = ("samples", "sums", "products")
SKEWS = (1, 4, 8, 16, 32)  # rows of tiles that blocks write concurrently
PRIMITIVES_ON_CPU = ("reduction", "inclusive_scan", "load_balancing_search", "exclusive_scan")
# Programs, with their default sizes, for comparing hit rates with the cache model.
CACHE_APPS = ("transpose", "stencil", "matmul", "spmv", "strides", "jacobi")
HITS = {
    "L1": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"),
    # Only requests by the L1 caches: the L2 cache also serves the profiler, and some 40,000 sectors of every
    # launch are not the kernel's.
    "L2": ("lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_srcunit_tex_lookup_hit.sum"),
}


class Steps:
    """Runs the package's programs until a step's time is up."""

    def __init__(self, package, findings, budget, keep):
        self.package = package
        self.findings = findings
        self.end = time.monotonic() + budget
        self.keep = keep
        self.deadline = self.end
        self.is_gpu = package.device == "cuda"

    def step(self, name, seconds, work):
        began = time.monotonic()
        self.deadline = min(self.end, began + seconds)
        if self.deadline - began < 5:
            self.findings.say(f"{name}: not done, the time was up")
            return
        try:
            work(self)
        except (TestFailure, OSError, ValueError, KeyError, IndexError, TypeError) as failure:
            self.findings.fail(f"{name}: {failure!r}" if not isinstance(failure, TestFailure) else f"{name}: {failure}")
        self.findings.data.setdefault("seconds", {})[name] = round(time.monotonic() - began, 1)
        self.keep(self.findings)

    def lynxpp(self, *arguments, environment=None):
        """Fails if the program fails or the step's time is up."""
        run = self.package.run(self.package.build.command, *arguments, preload=False, environment=environment,
                               timeout=max(1, self.deadline - time.monotonic()))
        if run.status != 0:
            raise TestFailure(str(run))
        return run

    def program(self, name):
        return self.package.program(name, "static" if self.is_gpu else "shared")

    def test_program(self, name):
        return self.package.build.examples / "tests" / name


def fixed(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def transactions(steps):
    """Measures the cost of transactions, and the equations."""
    findings, file = steps.findings, steps.calibration
    machine = () if steps.is_gpu else ("--machine", "compute_1_3", "--iterations", 64)
    run = steps.lynxpp("band", "calibrate", *machine, "-o", file)
    findings.files["calibration.json"] = file.read_text()
    calibration = json.loads(findings.files["calibration.json"])
    findings.data["calibration"] = calibration
    for line in run.stdout.decode().splitlines():
        if " spread, " in line:
            findings.say(line)
    for line in run.stderr.splitlines():
        findings.say(line)
    for form, equations in calibration["equations"].items():
        rows = []
        for each in equations:
            terms = [each["intercept"], *each["coefficients"]]
            rows.append([each["direction"], each["placement"], f"{each['r_squared']:.3f}", f"{each['rmse_ms']:.4g}",
                         "; ".join(f"{term['name']} {term['value']:.4g} ± {term['standard_error']:.2g} (p {term['p']:.2g})" for term in terms),
                         ", ".join(f"{dropped['name']} (p {dropped['p']:.2g})" for dropped in each["dropped"])])
        findings.table(f"equations, {form}", ["direction", "placement", "R²", "RMSE ms", "coefficients", "dropped"], rows)


def bands(steps, equation, program, *arguments, environment=None):
    """Returns the bands of the program's kernels; if there is no band, says so and returns nothing."""
    try:
        run = steps.lynxpp("band", "-c", steps.calibration, "-e", equation, "--json", "--", program, *arguments,
                           environment=environment)
    except TestFailure as failure:
        if time.monotonic() >= steps.deadline:
            raise
        message = [line for line in str(failure).splitlines() if line.startswith(("lynxpp: error", "lynxpp: warning"))]
        steps.findings.say(f"{program.name} {' '.join(map(str, arguments))} has no band by {equation}: {'; '.join(message)}")
        return []
    return [json.loads(line) for line in run.stdout.decode().splitlines()]


HEADER = ["warps", "ms", "best ms", "worst ms", "degree"]


def cells(band):
    return [band["warps"], f"{band['ms']:.4g}", f"{band['best_ms']:.4g}", f"{band['worst_ms']:.4g}", fixed(band["degree"])]


def application_bands(steps):
    """Bands of the transposes, the electrostatics and the cliques for each form of the equations."""
    rows = []
    try:
        for equation in EQUATIONS:
            for app, on_gpu, on_cpu in (("partitions", 8, 2), ("electrostatics", 64, 2), ("cliques", 200000, 2000)):
                size = on_gpu if steps.is_gpu else on_cpu
                for band in bands(steps, equation, steps.program(app), size):
                    rows.append([f"{app} {size}", band["kernel"].split("(")[0], equation, *cells(band)])
    finally:
        steps.findings.table("bands", ["program", "kernel", "equation", *HEADER], rows)


def geometric_mean(values):
    # Same as scripts/campprof_accuracy: an error of 0 counts as a hundredth of a percent.
    return math.exp(sum(math.log(max(value, 1e-4)) for value in values) / len(values))


def line_errors(found):
    """Returns the errors of the best line, and of the application line from every starting point for all
    other numbers of warps."""
    best = [abs(each["best_ms"] - each["ms"]) / each["ms"] for each in found]
    line = [abs(end["best_ms"] + begin["degree"] * (end["worst_ms"] - end["best_ms"]) - end["ms"]) / end["ms"]
            for begin in found for end in found if begin is not end and begin["degree"] is not None]
    return best, line


def application_lines(steps):
    """The errors of the lines over numbers of active warps: blocks of 1 to 16 warps do the same work."""
    rows = []
    try:
        # One block per multiprocessor, as in the benchmarks.
        grid = {"EXAMPLE_GRID": str(json.loads(steps.calibration.read_text())["multiprocessors"])}
        for app, size in (("electrostatics", 256), ("cliques", 50000)) if steps.is_gpu else (("cliques", 500),):
            found = []
            for warps in range(1, 17) if steps.is_gpu else (8, 16):
                found += bands(steps, "samples", steps.program(app), size, environment={**grid, "EXAMPLE_BLOCK": str(32 * warps)})[:1]
            best, line = line_errors(found)
            rows.append([app, len(found), *(f"{100 * geometric_mean(errors):.1f} %" if errors else "-" for errors in (best, line))])
    finally:
        steps.findings.table("errors of the lines, blocks of 1 to 16 warps (samples)",
                             ["program", "blocks with a band", "best line, geometric mean", "application line, geometric mean"], rows)


def camping_removed(steps):
    """The degree of the transpose as its writes go to more partitions of 256 bytes concurrently."""
    rows = []
    size = 8 if steps.is_gpu else 2
    try:
        for skew in SKEWS:
            for band in bands(steps, "samples", steps.test_program("skewed_transpose"), size, skew):
                rows.append([skew, *cells(band)])
    finally:
        steps.findings.table("transpose, camping removed step by step (samples)", ["concurrent rows of tiles", *HEADER], rows)


def hot_addresses(steps):
    """Hot lines and hot atomics of the kernels made for this purpose."""
    rows = []
    for band in bands(steps, "samples", steps.test_program("hot")):
        for spot in band["hot"] or [None]:
            rows.append([band["kernel"].split("(")[0], *cells(band),
                         "none" if spot is None else f"{spot['kind']} {spot['array']} + {spot['offset']}: {100 * spot['share']:.1f} %, {spot['sites'][0]['site']}"])
    steps.findings.table("hot addresses", ["kernel", *HEADER, "hot"], rows)


def quality(steps):
    """Criteria and QM of every primitive, and weights fitted to the device."""
    primitives = () if steps.is_gpu else PRIMITIVES_ON_CPU
    file = steps.folder / "weights.json"
    run = steps.lynxpp("quality", "-d", steps.package.device, "--fit", "-o", file, "--json", "--weights", "paper", "--",
                       steps.package.program("primitives", "shared"), 1000000 if steps.is_gpu else 5000, *primitives)
    found = json.loads(run.stdout.decode())
    steps.findings.files["weights.json"] = file.read_text()
    weights = json.loads(steps.findings.files["weights.json"])
    steps.findings.data["quality"] = found
    steps.findings.data["weights"] = weights
    symbols = list(weights["weights"])
    total = sum(weights["weights"].values())
    rows = []
    for subject in found["subjects"]:
        if subject["kind"] != "range" or subject["name"].count("/") != 1:
            continue
        fitted = sum(weights["weights"][symbol] * (subject["criteria"][symbol] or 0) for symbol in symbols) / total
        rows.append([subject["name"], subject["launches"], subject["launches_not_counted"], *[fixed(subject["criteria"][symbol], 2) for symbol in symbols], fixed(subject["quality"]), fixed(fitted),
                     f"{1e6 * subject['kernel_seconds']:.1f}", f"{1e6 * max(0, subject['between_seconds']):.1f}"])
    steps.findings.table(f"quality of primitives, times {found['times']}",
                         ["range", "launches", "not counted", *symbols, "QM", "QM by fitted weights", "kernels µs", "between µs"], rows)
    fit = weights["fit"]
    steps.findings.table("weights", ["criterion", "weight", "outcome", "coefficient", "standard error", "p"],
                         [[each["criterion"], fixed(weights["weights"][each["criterion"]], 1), each["outcome"], fixed(each.get("coefficient")),
                           fixed(each.get("standard_error")), fixed(each.get("p"), 4)] for each in fit["criteria"]])
    steps.findings.say(f"weights fitted to {fit['implementations']} implementations of {fit['primitives']} primitives: R² {fit['r_squared']:.3f}, "
                       f"each primitive predicted from the others {fit['validated_r_squared']:.3f}; pairs in the order of their times "
                       f"{fit['order']['right']} of {fit['order']['pairs']}, by weights fitted to the others {fit['validated_order']['right']}, "
                       f"by the paper's {fit['order_by_the_paper']['right']}")


def kernel_name(demangled):
    """Returns `copy<2>` for `void copy<(int)2>(float*)`, as the profiler writes it, and for
    `copy<2>(float*)`."""
    return re.sub(r"\((?:unsigned )?(?:int|bool|char|short|long)\)", "", demangled).split("(")[0].removeprefix("void ").strip()


def modelled_caches(steps, app):
    """Returns {kernel: {cache: (sectors, hits)}} according to the cache model."""
    run = steps.lynxpp("band", "--cache", "--cold", "--json", "--", steps.package.program(app, "shared"))
    found = {}
    for line in run.stdout.decode().splitlines():
        kernel = json.loads(line)
        found[kernel_name(kernel["kernel"])] = {each["cache"]: (each["accesses"], each["hits"]) for each in kernel["caches"]}
    return found


def profiled_caches(steps, profiler, app):
    metrics = ",".join(name for pair in HITS.values() for name in pair)
    run = steps.package.run(profiler, "--clock-control", "none", "--cache-control", "all", "--csv", "--page", "raw", "--print-kernel-base", "demangled",
                            "--metrics", metrics, "--target-processes", "all", steps.program(app), preload=False,
                            timeout=max(1, steps.deadline - time.monotonic()))
    launches = read_profile(run.stdout.decode(errors="replace"))
    if not launches:
        raise TestFailure(f"the profiler returned nothing\n{run}")
    return {kernel_name(kernel): {cache: tuple(sum(launch.get(name) or 0 for launch in each) for name in names) for cache, names in HITS.items()}
            for kernel, each in launches.items()}


def cache_hits(steps):
    """Compares the cache model's hit rates with the profiler's."""
    profiler = tool("ncu") if steps.is_gpu else None
    if profiler is None:
        steps.findings.say("ncu is not installed: only the model's hit rates")
    rows = []
    try:
        for app in CACHE_APPS if steps.is_gpu else CACHE_APPS[:2]:
            profiled = profiled_caches(steps, profiler, app) if profiler else {}
            for kernel, caches in modelled_caches(steps, app).items():
                for cache, (accesses, hits) in caches.items():
                    measured = profiled.get(kernel, {}).get(cache)
                    rows.append([app, kernel, cache, f"{accesses:,}", f"{100 * hits / accesses:.1f} %" if accesses else "-",
                                 f"{measured[0]:,.0f}" if measured else "-", f"{100 * measured[1] / measured[0]:.1f} %" if measured and measured[0] else "-"])
    finally:
        steps.findings.table("sectors and hits of the caches", ["program", "kernel", "cache", "sectors, modelled", "hits, modelled", "sectors, ncu", "hits, ncu"], rows)


def calibrate(package, _apps, budget, keep=lambda _: None):
    findings = Findings("calibrate", "cost of memory transactions, bands, hot addresses, quality of primitives with fitted weights, cache hits")
    with tempfile.TemporaryDirectory() as folder:
        steps = Steps(package, findings, budget, keep)
        steps.folder = pathlib.Path(folder)
        steps.calibration = steps.folder / "calibration.json"
        steps.step("transactions", 90, transactions)
        steps.step("camping removed", 60, camping_removed)
        steps.step("hot addresses", 30, hot_addresses)
        steps.step("bands", 100, application_bands)
        steps.step("lines", 180, application_lines)
        steps.step("quality", 150, quality)
        steps.step("caches", 100, cache_hits)
    return findings
