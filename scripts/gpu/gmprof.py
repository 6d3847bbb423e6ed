"""The cost of GMProf's schemes of counting words on a GPU: its Tables 1 and 2 as ratios of kernel times.

The schemes and programs are those of scripts/gmprof_tables, which counts instructions instead.
"""
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

from common import Findings, TestFailure

APPS = ["cocluster", "em", "binomial", "jacobi", "spmv", "dxtc"]  # the order of the paper
SHARED, DEVICE = "shared_memory_profile", "device_memory_profile"
# {profile: {column: LYNXPP_WORDS}}; the columns of the paper, the exact default, and its baseline, sampling.
SCHEMES = {
    SHARED: {"exact (default)": "", "basic": "basic", "SA": "static", "SA-NA": "static,plain", "SA-NA-SM": "static,plain,shared=32",
             "SA-NA-SM-TH": "static,plain,shared=8,threshold=255", "1/10": "sample=10,shared=32", "1/100": "sample=100,shared=32",
             "1/1000": "sample=1000,shared=32"},
    DEVICE: {"exact (default)": "", "basic": "basic", "SA": "static", "SA-NA": "static,plain",
             "SA-NA-TH": "static,plain,threshold=255"},
}
# Columns whose kernel times are measured, so that the part takes two and a half minutes.
TIMED = ["exact (default)", "basic", "SA", "SA-NA", "SA-NA-SM", "SA-NA-SM-TH", "SA-NA-TH", "1/100"]
# Columns whose counts can differ from the exact ones.
INEXACT = ["SA-NA", "SA-NA-SM", "1/10", "1/100", "1/1000"]
SIZES = {"jacobi": 4096, "em": 1 << 17, "binomial": 1024, "cocluster": 2048, "dxtc": 256, "spmv": 1 << 20}
REPEAT, SKIPPED = 20, 6  # launches of each kernel in a run; unmeasured first launches


def bench(package, app, profiles, scheme, rounds, folder):
    """Returns for each profile {kernel: (name, native milliseconds, ratio)}."""
    output = pathlib.Path(folder, "bench.json")
    is_gpu = package.device == "cuda"
    command = ["bench", "-d", package.device, "-r", rounds, "-o", output, *(each for profile in profiles for each in ("-s", profile))]
    command += ["-l", f"{SKIPPED}-"] if is_gpu else []
    command += ["--", package.program(app)] + ([SIZES[app]] if is_gpu else [])
    environment = {"LYNXPP_WORDS": scheme, **({"EXAMPLE_REPEAT": str(REPEAT)} if is_gpu else {})}
    run = package.run(package.build.command, *command, preload=False, environment=environment)
    if run.status != 0:
        raise TestFailure(str(run))
    settings = json.loads(output.read_text())["settings"]
    if not all(setting["same_output"] for setting in settings):
        raise TestFailure(f"{app} with {profiles}, {scheme or 'default'}: the output changed")
    return [{each["kernel"]: (each["demangled"].split("(")[0], each["native_ms"], each["ratio"]) for each in setting["kernels"]} for setting in settings]


def arrays_of(records):
    """Returns {(kernel, launch, array): (words, accesses)}, and the notes of kernels."""
    arrays = {}
    for record in records.launches:
        results = record["results"]
        for i, label in enumerate(results.get("arrays.words", {}).get("labels", [])):
            words, accesses = (results[f"arrays.{column}"]["values"][i] for column in ("words", "accesses"))
            arrays[record["kernel"], record["launch"], label] = (words, accesses)
    return arrays, {entry["kernel"]: entry.get("notes", []) for entry in records.coverage}


def loss(actual, counted):
    """Returns the mean relative error of a program's arrays; arrays without accesses have none."""
    errors = [abs(counted.get(array, (0, 0))[1] - accesses) / accesses for array, (_, accesses) in actual.items() if accesses]
    return statistics.mean(errors) if errors else None


def accuracy(package, apps, findings):
    """The paper's accuracy loss (its Figure 4) of every scheme, from the first launch of each kernel; without
    atomic operations, threads race for counts."""
    for profile, schemes in SCHEMES.items():
        columns = {column: scheme for column, scheme in schemes.items() if column == "basic" or column in INEXACT}
        rows, losses = [], {column: [] for column in columns}
        for app in apps:
            counted = {}
            for column, scheme in columns.items():
                run, records = package.measure(package.program(app), spec=profile, environment={"LYNXPP_WORDS": scheme, "LYNXPP_LAUNCHES": "0"})
                if run.status != 0:
                    findings.fail(f"{app}, {profile}, {column}: {run}")
                counted[column] = arrays_of(records)[0]
            found = {column: loss(counted["basic"], arrays) for column, arrays in counted.items()}
            rows.append([app, *("-" if each is None else f"{100 * each:.2f} %" for each in found.values())])
            for column, each in found.items():
                losses[column] += [] if each is None else [each]
        rows.append(["mean", *(f"{100 * statistics.fmean(each):.2f} %" if each else "-" for each in losses.values())])
        findings.table(f"{profile}: accuracy loss against basic", ["program", *columns], rows)


def gmprof(package, apps, budget, rounds=1):
    """Kernel times with each of GMProf's schemes over the native ones; the exact default is measured three times as
    often."""
    findings = Findings("gmprof", gmprof.__doc__.splitlines()[0])
    findings.data = {"ratios": {}}
    began, left_out, longest = time.monotonic(), [], 0
    measured = {profile: {} for profile in SCHEMES}
    with tempfile.TemporaryDirectory() as folder:
        for app in [app for app in APPS if app in apps]:
            at = time.monotonic()
            if at - began + longest > budget:
                left_out.append(app)
                continue
            for column in TIMED:
                profiles = [profile for profile, schemes in SCHEMES.items() if column in schemes]
                scheme = SCHEMES[profiles[0]][column]
                try:
                    for profile, kernels in zip(profiles, bench(package, app, profiles, scheme, rounds if scheme else 3 * rounds, folder)):
                        for kernel, found in kernels.items():
                            measured[profile].setdefault((app, kernel), {})[column] = found
                except (TestFailure, subprocess.SubprocessError) as failure:
                    findings.fail(f"{app}, {column}: {failure}")
            longest = max(longest, time.monotonic() - at)
    for profile in SCHEMES:
        schemes = [column for column in TIMED if column in SCHEMES[profile]]
        rows = []
        for (app, _), columns in measured[profile].items():
            name, native, _ = next(iter(columns.values()))
            rows.append([app, name, f"{1000 * native:.1f}"] + [f"{columns[each][2]:.3f}" if each in columns else "" for each in schemes])
        means = []
        for column in schemes:
            ratios = [columns[column][2] for columns in measured[profile].values() if column in columns]
            means.append(f"{statistics.geometric_mean(ratios):.3f}" if ratios else "")
        rows.append(["geometric mean", "", "", *means])
        findings.table(f"{profile}: native microseconds of a launch, then kernel time over native", ["program", "kernel", "native µs", *schemes], rows)
        findings.data["ratios"][profile] = {f"{app} {kernel}": {column: found[2] for column, found in columns.items()}
                                            for (app, kernel), columns in measured[profile].items()}
        findings.say(f"{profile}: " + ", ".join(f"{column} {mean}" for column, mean in zip(schemes, means)))
    accuracy(package, [app for app in APPS if app in apps and app not in left_out], findings)
    if left_out:
        findings.say(f"not measured, the time was up: {', '.join(left_out)} (--apps {','.join(left_out)})")
    return findings
