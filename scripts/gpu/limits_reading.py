#!/usr/bin/env python3
"""Reads programs through with `lynxpp limits`: what it says, and what following its advice gains.

usage: limits_reading.py prepare --build build/release --out build/limits-reading
       limits_reading.py measure FOLDER_OR_ARCHIVE [--out FOLDER] [--device cuda|cpu] [--budget SECONDS] [--only NAME,NAME…]

`prepare` compiles examples/reading with nvcc and writes FOLDER/package.tar.gz, which limits_pairs.py can measure,
too; it needs the targets lynxpp_cli, lynxpp_preload, lynxpp_engine_so and limits_pairs. Then `python3 FOLDER/limits_reading.py measure FOLDER/package.tar.gz`
runs on a machine with a driver and Python; PyTorch, Triton and JAX for the programs that need them.

These programs and those in reading/ have a slow variant and others, named after the class of operations that they change. For each,
`measure` prints the table of `lynxpp limits` for the slow variant, then what each other variant gains, and the sum over
the kernels of the share of time times the figure for the class. The slow kernels of some pairs run under
`lynxpp limits --try`: the gain of each remedy, the prediction, and the comparison of the results. `cost` compares the
elapsed time of a program that launches three kernels a hundred times with that under `lynxpp limits`.

Writes OUT/limits_reading.md and .json, and the outputs to OUT/raw. Exit status: 0, 1 if a command failed, 3 without a GPU.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import common  # noqa: E402
from common import Findings, TestFailure, in_percent  # noqa: E402
from limits_pairs import fill, read_table  # noqa: E402

MOST_SECONDS = 60    # of one command
LAST_SECONDS = 30    # of one that starts when the budget ends
TIMED = {"cuda": 40, "cpu": 2}
COSTS = {"cuda": (100, 4096, 5), "cpu": (2, 256, 1)}  # launches of each kernel, rows, repetitions
TRIED = ("spills", "gather", "matrix_product", "low_occupancy", "half_occupancy", "sparse_rows")

# `kernels`: the argument of -k; `launches`: of the slow variant under `lynxpp limits`.
Program = collections.namedtuple("Program", "name module kernels launches")
PROGRAMS = [Program("softmax", None, None, 140), Program("matmul.py", "triton", "multiply", 140), Program("attention.py", "triton", "attend", 140),
            Program("clusters.py", "jax", None, 80)]


class Runner(common.Runner):
    def __init__(self, folder, device, out, budget):
        super().__init__(folder, device, MOST_SECONDS, budget, LAST_SECONDS, folder / "reading")
        self.raw = out / "raw"
        self.raw.mkdir(parents=True, exist_ok=True)

    def limits(self, name, *arguments):
        """Returns the kernels of the answer of `lynxpp limits`, which is kept."""
        answer = self.raw / f"{name}.limits.json"
        run = self.run(self.build.command, "limits", "-d", self.device, "--json", answer, "--html", self.raw / f"{name}.limits.html",
                       "-o", self.raw / f"{name}.trials.jsonl", *arguments)
        (self.raw / f"{name}.limits.txt").write_text(run.stderr)
        return json.loads(answer.read_text())["kernels"], run

    def native(self, program):
        """Returns {variant: (median, lower quartile, upper quartile)} in ms."""
        run = self.run(*self.command(program, "all", TIMED[self.device]), preload=self.device == "cpu")
        (self.raw / f"{program.name}.native.txt").write_text(run.stderr)
        if not run.stdout.startswith(b"equal"):
            raise TestFailure(f"the results differ: {run.stdout!r}")
        return {name: tuple(map(float, numbers.split())) for name, numbers in re.findall(r"^(.*) ms ([\d. ]+)$", run.stderr, re.MULTILINE)}

    def command(self, program, variant, launches):
        start = [sys.executable, self.working_folder / program.name] if program.module else [f"./{program.name}"]
        return [*start, variant, launches, *([512] if self.device == "cpu" else [])]


def figure_of(limits, name):
    """Returns what the table promises to a variant: "reuse" of global accesses, the pattern of a class that has one, or its gain at most."""
    if name == "reuse":
        return (limits.get("global-access", {}).get("reuse") or {"at_most": 0})["at_most"]
    limit = limits.get(name)
    return (limit["pattern"] or limit)["at_most"] if limit else 0


def promised(kernels, variant):
    """Returns the sum over the kernels of their shares of time and the figures of the variant's classes."""
    total = 0.0
    for kernel in kernels:
        limits = {each["operation"]: each for each in kernel["limits"]}
        total += kernel["share"] * min(1.0, sum(figure_of(limits, each) for each in variant.split(" and ")))
    return total


def describe(findings, name, kernels):
    """Adds a table of the most expensive classes of the first three kernels."""
    rows = []
    for kernel in kernels[:3]:
        for limit in kernel["limits"][:5] + [each for each in kernel["limits"][5:] if each["operation"] == "waiting"]:
            places = limit["lines"][0]["locations"] if limit["lines"] else limit["locations"]
            rows.append([kernel["demangled"].split("(")[0], f"{1000 * kernel['native_ms']:.1f}", in_percent(kernel["share"]), limit["operation"],
                         in_percent(limit["at_most"]), *(in_percent((limit[key] or {}).get("at_most")) for key in ("pattern", "reuse")), limit["verdict"],
                         " ".join(f"{each['file']}:{each['line']}" for each in places[:2]), limit["advice"][:90]])
    findings.table(f"{name}: limits", ["kernel", "µs", "share, %", "class", "at most, %", "pattern, %", "reuse, %", "verdict", "lines", "advice"], rows)


def read_program(runner, program, findings):
    times = runner.native(program)
    kernels, run = runner.limits(program.name, *(["-k", program.kernels] if program.kernels else []), "--",
                                 *runner.command(program, "slow", program.launches))
    plain = runner.run(*runner.command(program, "slow", 3), preload=runner.device == "cpu")
    is_equal = plain.stdout == run.stdout
    describe(findings, program.name, kernels)
    if runner.device == "cuda":
        times = {name: min(each, again) for (name, each), again in zip(times.items(), runner.native(program).values())}
    slow = times["slow"][0]
    rows = [[program.name, name, f"{1000 * each[0]:.2f}", in_percent(promised(kernels, name)), in_percent(1 - each[0] / slow), str(is_equal)]
            for name, each in times.items()]
    findings.data[program.name] = {"ms": times, "output_equal": is_equal, "promised": {name: promised(kernels, name) for name in times}}
    for row in rows[1:]:
        print(f"{row[0]}, {row[1]}: promised at most {row[3]} %, gained {row[4]} %; output equal: {row[5]}", flush=True)
    return rows


def try_pair(runner, pair, findings):
    size = [pair.cpu_size] if runner.device == "cpu" else []
    command = [runner.build.examples / "limits" / pair.program, "slow"]
    kernels, run = runner.limits(f"try-{pair.program}", "--try", "--", *command, 20 if runner.device == "cpu" else 140, *size)
    plain = runner.run(*command, 1, *size, preload=runner.device == "cpu")
    rows = []
    for kernel in kernels:
        for remedy in kernel["remedies"]:
            predicted = (remedy["predicted"] or {}).get("at_most")
            rows.append([pair.program, remedy["operation"], in_percent(remedy["gain"]["at_most"]),
                         f"{in_percent(remedy['gain']['low'])} to {in_percent(remedy['gain']['high'])}", in_percent(predicted), remedy["predicted_by"],
                         remedy["results"], str(run.stdout == plain.stdout)])
            print(f"--try {', '.join(rows[-1])}", flush=True)
    return rows


def measure_cost(runner, findings):
    """Returns a row per repetition: elapsed seconds, and the most launches of a kernel for classes."""
    launches, size, repetitions = COSTS[runner.device]
    rows = []
    for _ in range(repetitions):
        began = time.monotonic()
        plain = runner.run("./steps", launches, size, preload=runner.device == "cpu")
        between = time.monotonic()
        kernels, run = runner.limits("steps", "--", "./steps", launches, size)
        seconds = [between - began, time.monotonic() - between]
        classes = collections.Counter()
        for line in (runner.raw / "steps.trials.jsonl").read_text().splitlines():
            trial = json.loads(line)
            if trial.get("record") == "trial" and "@" not in trial["perturbation"] and trial["perturbation"] != "moving:again":
                classes[trial["kernel"]] += len(trial["ms"])
        rows.append([*(f"{each:.2f}" for each in seconds), f"{seconds[1] / seconds[0]:.2f}", str(max(classes.values())),
                     str(max(each["timed"] for each in kernels)), str(plain.stdout == run.stdout)])
        print(f"cost: {', '.join(rows[-1])}", flush=True)
    return rows


def measure(arguments):
    machine = common.machine_of(arguments.device, "limits_reading.py")
    if machine is None:
        return 3
    out = arguments.out.resolve()
    folder = common.unpacked(arguments.source.resolve())
    runner = Runner(folder, arguments.device, out, arguments.budget)
    findings = Findings("limits_reading", "what `lynxpp limits` says, and what following it gains")
    only = set(filter(None, arguments.only.split(",")))
    advised, tried, costs = [], [], []

    def attempt(name, rows, action):
        began = time.monotonic()
        try:
            rows += action()
        except (TestFailure, subprocess.SubprocessError, OSError, ValueError, KeyError, IndexError) as failure:
            findings.failures.append(f"{name}: {type(failure).__name__}: {failure}")
            print(f"FAIL: {name}: {str(failure)[-600:]}", flush=True)
        findings.say(f"{name}: {time.monotonic() - began:.1f} s")
        findings.write(out, machine)
    pairs = {pair.program: pair for pair in read_table(folder / "examples" / "limits" / "pairs.csv")}
    findings.table("Following the advice", ["program", "variant", "µs", "promised at most, %", "gained, %", "output equal"], [])
    findings.table("Remedies by --try", ["pair", "remedy", "gained, %", "interval, %", "predicted at most, %", "predicted by", "memory", "output equal"], [])
    findings.table("Cost", ["program, s", "limits, s", "ratio", "launches for classes", "timed launches", "output equal"], [])
    for i, rows in enumerate((advised, tried, costs)):
        findings.tables[i] = (*findings.tables[i][:2], rows)
    if not only or "cost" in only:
        attempt("cost", costs, lambda: measure_cost(runner, findings))
    first = PROGRAMS[:1] if arguments.device == "cpu" else PROGRAMS
    for program in first:
        if not only or program.name in only:
            attempt(program.name, advised, lambda program=program: read_program(runner, program, findings))
    for name in TRIED:
        if not only or name in only:
            attempt(f"--try {name}", tried, lambda name=name: try_pair(runner, pairs[name], findings))
    findings.write(out, machine)
    print(f"{len(findings.failures)} failures; {out / 'limits_reading.md'}")
    return 1 if findings.failures else 0


def prepare(arguments):
    def fill_all(tree):
        fill(tree, arguments)
        shutil.copytree(HERE / "reading", tree / "reading", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("softmax", "steps"):
            common.compile_program(arguments.nvcc, HERE.parents[1] / "examples" / "reading" / f"{name}.cu", tree / "reading" / name)
    common.pack(arguments.out, fill_all, ("limits_reading.py", "limits_pairs.py", "cumapz.py"))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("--build", type=pathlib.Path, required=True)
    one.add_argument("--programs", type=pathlib.Path, help="folder of the pairs (default: BUILD/examples/limits)")
    one.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    one.add_argument("--out", type=pathlib.Path, required=True)
    two = commands.add_parser("measure")
    two.add_argument("source", type=pathlib.Path, metavar="FOLDER_OR_ARCHIVE")
    two.add_argument("--only", metavar="NAME,NAME…", default="", help="default: all programs and pairs")
    two.add_argument("--out", type=pathlib.Path, default=pathlib.Path("limits-reading"))
    two.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    two.add_argument("--budget", type=float, default=120, help="seconds after which no further command starts")
    arguments = parser.parse_args()
    return {"prepare": prepare, "measure": measure}[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
