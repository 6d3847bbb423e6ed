"""CuMAPz's eight benchmarks and `lynxpp advise`: the part `cumapz` of scripts/gpu-check, and
scripts/cumapz_benchmarks.

On the cpu device: whether each variant makes exactly the accesses of its description. On a GPU: correlation
of estimates and speed.
"""
import json
import math
import statistics
import subprocess
import time

import held_out
from common import Findings, TestFailure, gpu

# The constant that holds the size, and its value on the cpu device and on a GPU (where a launch takes a
# hundred times its fixed cost and, except for matmul, its data does not fit in a 50 MB L2 cache; backprop's
# grid has at most 65,535 blocks in y).
SIZES = {"laplace": ("N", 64, 8192), "wavelet": ("N", 4096, 1 << 26), "matmul": ("N", 64, 2048), "transpose": ("N", 128, 8192),
         "gaussian": ("N", 80, 8192), "lud": ("N", 80, 8192), "hotspot": ("N", 48, 8192), "backprop": ("INPUTS", 256, 65535 * 16)}
# Its Table IV.
PAPER_SIZES = {"laplace": 8192, "wavelet": 8388608, "matmul": 1024, "transpose": 2048, "gaussian": 160, "lud": 2048, "hotspot": 1024,
               "backprop": 65536}
PAPER_TERMS = ("data_reuse", "lat_hiding", "bw_util", "ch_skew", "branch_eff", "shm_eff")
MACHINE = "compute_9_0"
GPU_MACHINES = {"h200": "compute_9_0", "h100": "h100"}  # by a part of the GPU's name: times are modelled to compare them
# All blocks of lud's grid, which grows with the square of N, are analysed, so a part of a large grid is used:
# except for the skew, which is 0 here, terms hardly depend on the size.
MOST_ESTIMATED = {"lud": 1024}
REPEAT = 20           # successive measurements of each variant, each of at least a millisecond
ROUNDS = 2            # all variants run in turn this often, so that clock changes affect all of them
MOST_SECONDS = 60     # after which no further variant starts on a GPU
HELD_OUT_SECONDS = 90  # the same for held-out kernels
GOAL = 0.96           # of the correlation, like the paper's mean
NEAR = 1.05           # best by a model over best measured
ALIKE = 1.05          # slowest over fastest: smaller differences have many causes outside a memory model
ESTIMATE, TIME = "estimate", "modelled time"
# Larger is better; None: not defined for the machine.
MERITS = {ESTIMATE: lambda variant: variant["modelled"]["estimate"],
          TIME: lambda variant: 1 / variant["bounds"]["microseconds"] if "bounds" in variant else None}


def machine_of_gpu():
    """Returns the machine that describes this GPU, or the one nearest to it."""
    name = (gpu() or ("",))[0].lower()
    return next((machine for part, machine in GPU_MACHINES.items() if part in name), MACHINE)


def descriptions(build):
    """Returns the folder with the descriptions: of the package, or of the repository."""
    installed = build.folder / "share" / "lynxpp" / "advise"
    return installed if installed.exists() else build.folder.parents[1] / "examples" / "advise"


def advice(build, folder, name, machine, **values):
    """Returns the results of `lynxpp advise` for every variant, best first."""
    command = [build.command, "advise", folder / f"{name}.access", "-m", machine, "--json"]
    for key, value in values.items():
        command += ["-D", f"{key}={value}"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise TestFailure(f"{' '.join(map(str, command))}\n{run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def described(variant):
    """Returns those counts of a description's accesses that the cpu device has too."""
    count = dict.fromkeys(("load_requests", "load_bytes", "load_sectors", "store_requests", "store_bytes", "store_sectors", "shared_loads", "shared_load_wavefronts",
                           "shared_stores", "shared_store_wavefronts"), 0)
    for each in variant["references"]:
        is_global_store = each["does"] in ("write", "store")
        is_shared_store = each["does"] in ("write", "fetch")
        way = "store" if is_global_store else "load"
        count[f"{way}_requests"] += each["global_requests"]
        count[f"{way}_bytes"] += 4 * (each["accesses"] - each["in_shared"])
        count[f"{way}_sectors"] += each["transactions"]
        way = "store" if is_shared_store else "load"
        count[f"shared_{way}s"] += each["shared_requests"]
        count[f"shared_{way}_wavefronts"] += each["shared_served"]
    return count


def counted(launches):
    """Returns the same from the cpu device's own counters, for one launch."""
    (launch,) = launches
    memory, shared = launch["global"], launch["shared"]
    return {**{f"{way}_{what}": memory[f"{way}s"][what] for way in ("load", "store") for what in ("requests", "bytes", "sectors")},
            "shared_loads": shared["loads"]["accesses"], "shared_load_wavefronts": shared["loads"]["wavefronts"],
            "shared_stores": shared["stores"]["accesses"], "shared_store_wavefronts": shared["stores"]["wavefronts"],
            "instructions": launch["warp_instructions"]}


def pearson(xs, ys):
    """Returns None if one side is constant."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    products = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
    squares = sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys)
    return products / math.sqrt(squares) if squares > 0 else None


def ranks(values):
    """Returns ranks from 1; equal values share their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def spearman(xs, ys):
    return pearson(ranks(xs), ranks(ys))


def shown(number):
    return "-" if number is None else f"{number:.3f}"


def title(variant):
    return " ".join(f"{name}={value}" for name, value in variant["choices"].items())


def milliseconds(run, name):
    """(median, lower quartile, upper quartile) that a program printed."""
    for line in run.stderr.splitlines():
        words = line.split()
        if words[:2] == ["kernel_ms", name]:
            return tuple(map(float, words[2:5]))
    raise TestFailure(f"{name} printed no time\n{run}")


class Times:
    """Times of one variant, from all rounds."""

    def __init__(self, rounds):
        self.ms = statistics.median(median for median, _, _ in rounds)
        self.least = min(lower for _, lower, _ in rounds)
        self.most = max(upper for _, _, upper in rounds)


class Benchmarks:
    def __init__(self, build, device, findings, machine=None, run=None):
        self.build = build
        self.device = device
        self.findings = findings
        self.machine = machine or (machine_of_gpu() if device == "cuda" else MACHINE)
        self.run = run or build.run
        self.correlations = {ESTIMATE: [], TIME: []}
        self.ratios = []  # measured over modelled time, of every variant

    def benchmark(self, name, size=None, until=math.inf, again_until=math.inf):
        """Runs every variant of one benchmark and adds its table. No variant starts after `until`, and none
        is repeated after `again_until`."""
        constant, small, large = SIZES[name]
        value = size or (large if self.device == "cuda" else small)
        # Counts can only be compared for equal sizes.
        estimated = min(value, MOST_ESTIMATED.get(name, value)) if self.device == "cuda" else value
        variants = advice(self.build, descriptions(self.build), name, self.machine, **{constant: estimated})
        for variant in variants if estimated != value else ():
            variant["bounds"]["microseconds"] *= (value / estimated) ** 2
        found = [[] for _ in variants]
        for this_round in range(ROUNDS if self.device == "cuda" else 1):
            for variant, results in zip(variants, found):
                arguments = [f"{key}={chosen}" for key, chosen in variant["choices"].items()] + [f"{constant}={value}"]
                if this_round != 0 and (time.monotonic() > min(until, again_until) or not results):
                    continue
                if time.monotonic() > until:
                    self.findings.fail(f"{name} {title(variant)}: no time was left")
                    continue
                try:
                    results.append(self.measured(name, arguments, variant))
                except TestFailure as failure:
                    self.findings.fail(f"{name} {' '.join(arguments)}: {failure}")
        rows = [(variant, Times(results) if self.device == "cuda" else results[0]) for variant, results in zip(variants, found) if results]
        self.report(name, f"{constant}={value}", rows)

    def measured(self, name, arguments, variant):
        """Returns milliseconds and quartiles on a GPU, and on the cpu device counts, which are compared with
        the description's."""
        if self.device == "cuda":
            program = self.build.examples / "cumapz" / "static" / name
            run = self.run(program, *arguments, preload=False, environment={"EXAMPLE_REPEAT": str(REPEAT)})
            if run.status != 0:
                raise TestFailure(str(run))
            return milliseconds(run, name)
        run, launches = self.build.count(self.build.examples / "cumapz" / name, *arguments)
        if run.status != 0:
            raise TestFailure(str(run))
        found = counted(launches)
        wanted = described(variant) if self.machine == MACHINE else {}
        for key, number in wanted.items():
            if found[key] != number:
                self.findings.fail(f"{name} {' '.join(arguments)}: {found[key]} {key.replace('_', ' ')}, described are {number}")
        return found

    def report(self, name, size, rows):
        terms = [term for term in (rows[0][0]["modelled"] if rows else {}) if term != "estimate" and
                 (term in PAPER_TERMS or any(variant["modelled"][term] != 1 for variant, _ in rows))]
        is_timed = self.device == "cuda"
        is_bounded = any("bounds" in variant for variant, _ in rows)
        header = ["variant, best first", *(["modelled ms", "bound by"] if is_bounded else []), "estimate", *terms, "global accesses"]
        header += ["ms", "quartiles of all rounds"] if is_timed else ["sectors", "shared wavefronts", "warp instructions"]
        table = []
        for variant, found in rows:
            modelled = variant["modelled"]
            bounds = [f"{variant['bounds']['microseconds'] / 1000:.4f}", variant["bounds"]["by"]] if is_bounded else []
            table.append([title(variant), *bounds, f"{modelled['estimate']:.4f}", *(f"{modelled[term]:.3f}" for term in terms), f"{variant['global_accesses']:,}"])
            table[-1] += [f"{found.ms:.4f}", f"{found.least:.4f} to {found.most:.4f}"] if is_timed else [
                f"{found['load_sectors'] + found['store_sectors']:,}", f"{found['shared_load_wavefronts'] + found['shared_store_wavefronts']:,}",
                f"{found['instructions']:,}"]
        self.findings.table(f"{name}, {size}", header, table)
        self.findings.data[name] = [{**variant["modelled"], "bounds": variant.get("bounds"), "references": variant["references"], "choices": variant["choices"], "global_accesses": variant["global_accesses"],
                                     **(vars(found) if is_timed else found)} for variant, found in rows]
        if is_timed:
            lines = ["benchmark,size,variant,modelled_ms,busy_longest,measured_ms"] if "cumapz-variants.csv" not in self.findings.files else []
            lines += [f"{name},{size},{title(variant)},{variant['bounds']['microseconds'] / 1000:.4f},{variant['bounds']['by']},{found.ms:.4f}"
                      for variant, found in rows if "bounds" in variant]
            self.findings.files["cumapz-variants.csv"] = self.findings.files.get("cumapz-variants.csv", "") + "".join(f"{line}\n" for line in lines)
        if is_timed and len(rows) > 1:
            self.compare(name, rows)

    def compare(self, name, rows):
        """Correlates the estimates, modelled times, and plain counts of accesses as a baseline, with the
        speed."""
        speed = [1 / found.ms for _, found in rows]
        fastest, fastest_time = min(rows, key=lambda row: row[1].ms)
        slowest_ms = max(found.ms for _, found in rows)
        is_alike = slowest_ms <= ALIKE * fastest_time.ms
        plain = [1 / variant["global_accesses"] for variant, _ in rows]
        said = [f"plain counts {shown(pearson(plain, speed))}, {shown(spearman(plain, speed))}"]
        for what, merit in MERITS.items():
            if any(merit(variant) is None for variant, _ in rows):
                continue
            merits = [merit(variant) for variant, _ in rows]
            # Among several best ones, the one that `lynxpp advise` lists first.
            advised, advised_time = rows[merits.index(max(merits))]
            found = pearson(merits, speed)
            self.correlations[what].append((found, is_alike))
            said.append(f"{what}: Pearson {shown(found)}, Spearman {shown(spearman(merits, speed))}, best {title(advised)} {advised_time.ms:.4f} ms "
                        f"({'within' if advised_time.ms <= NEAR * fastest_time.ms else 'NOT within'} {NEAR - 1:.0%})")
        self.ratios += [found.ms / variant["bounds"]["microseconds"] * 1000 for variant, found in rows if "bounds" in variant]
        self.findings.say(f"{name}: fastest {title(fastest)} {fastest_time.ms:.4f} ms, slowest over fastest {slowest_ms / fastest_time.ms:.3f}; "
                          f"{'; '.join(said)}; widest quartiles {max(each.most / each.least for _, each in rows):.3f}"
                          + (f": the variants differ by less than {ALIKE - 1:.0%}, so that a correlation says little" if is_alike else ""))

    def summary(self, count):
        if self.device != "cuda":
            variants = sum(len(found) for found in self.findings.data.values())
            self.findings.say(f"{variants} variants of {count} benchmarks ran, with {len(self.findings.failures)} differences between what was described and counted")
            return
        self.findings.say(f"estimates and times are modelled for {self.machine}")
        for what, correlations in self.correlations.items():
            known = [each for each in correlations if each[0] is not None]
            if not known:
                continue
            mean = statistics.fmean(found for found, _ in known)
            different = [found for found, is_alike in known if not is_alike]
            self.findings.say(f"{what}: mean Pearson of {len(known)} benchmarks {mean:.3f} (goal {GOAL}, {'met' if mean >= GOAL else 'MISSED'})"
                              + (f", of the {len(different)} whose variants differ by more than {ALIKE - 1:.0%} {statistics.fmean(different):.3f}" if different else ""))
        if self.ratios:
            logarithms = [math.log(each) for each in self.ratios]
            self.findings.say(f"measured over modelled time of {len(self.ratios)} variants: geometric mean {math.exp(statistics.fmean(logarithms)):.3f}, "
                              f"{min(self.ratios):.3f} to {max(self.ratios):.3f}, deviation of the logarithms {statistics.pstdev(logarithms):.3f}")


def cumapz(package, _, budget):
    """The part of scripts/gpu-check."""
    findings = Findings("cumapz", "CuMAPz's benchmarks compared with lynxpp advise")
    began = time.monotonic()
    seconds = min(budget, MOST_SECONDS) if package.device == "cuda" else math.inf
    benchmarks = Benchmarks(package.build, package.device, findings, run=package.run)
    for number, name in enumerate(SIZES, 1):
        benchmarks.benchmark(name, until=began + seconds, again_until=began + seconds * number / len(SIZES))
    benchmarks.summary(len(SIZES))
    held_out.held_out(benchmarks, time.monotonic() + (HELD_OUT_SECONDS if package.device == "cuda" else math.inf), milliseconds, pearson, spearman)
    return findings
