#!/usr/bin/env python3
"""Compares what `lynxpp limits` predicts with what mending gains, on the pairs of kernels in examples/limits.

usage: limits_pairs.py prepare --build build/release --out build/limits-package
       limits_pairs.py measure FOLDER_OR_ARCHIVE [--out FOLDER] [--device cuda|cpu] [--gpus N] [--budget SECONDS] [--resume]
               [--only PAIR,PAIR…] [--estimates FILE]
       limits_pairs.py summary FOLDER [--table FILE] [--build FOLDER]

`prepare` writes FOLDER/package.tar.gz with the command, its libraries, the pairs and the CUDA runtime, and copies this
script to FOLDER; it needs the targets lynxpp_cli, lynxpp_preload, lynxpp_engine_so and limits_pairs. Then
`python3 FOLDER/limits_pairs.py measure FOLDER/package.tar.gz` runs on a machine with a driver and Python, without a
compiler. `measure` also takes a build folder. For each pair it measures

- the true gain, 1 - mended / slow: launches of both kernels in turn, native, between events; medians;
- the prediction of `lynxpp limits` for the slow kernel: the figure for the kind of mending that the table of pairs
  declares (MENDINGS), of the pair's classes of operations; its most expensive line, and the class with the greatest gain;
- the estimate of `lynxpp record`: the greatest one among the findings about the same class.

After each pair it rewrites OUT/limits_pairs.csv and OUT/limits_pairs.md (tables and summary); the answers of the
command are in OUT/answers. At the end it writes OUT/limits_times.csv, all launches' times, and OUT/limits_classes.csv,
the figures of all classes. A pair that fails does not stop the others. `summary` reads these answers again with
another table of pairs, and with --build lets `lynxpp limits` of a build folder read the times again. On the cpu device, time is modelled and
sizes are small: that tests the machinery, not the predictions. Exit status: 0, 1 if a pair failed, 3 without a GPU.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import math
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import common  # noqa: E402
from common import Findings, TestFailure, in_percent  # noqa: E402
from cumapz import shown, spearman  # noqa: E402

OPERATIONS = {"shared-access", "global-access", "atomic", "barrier", "async-copy", "branch", "fp32", "fp64", "integer", "integer-division", "special-function",
              "tensor", "fetch", "local-memory", "occupancy", "registers", "divergence", "arithmetic",
              "launch"}  # launch: grid size and tail, which have no trials
ARITHMETIC = ("fp32", "fp64", "integer", "integer-division", "special-function", "fetch")  # "arithmetic" in the table: expressions that become cheaper
# The kinds of mending, and the figures of `lynxpp limits` that promise it, a function of the limits by operation and the classes.
MENDINGS = {
    # The operations go, or become fewer and cheaper: "gain at most" of the classes.
    "removed": lambda limits, classes: gone(limits, classes),
    # Other addresses of the same operations: "by another pattern".
    "pattern": lambda limits, classes: total(limits, classes, lambda limit: (limit["pattern"] or limit)["at_most"]),
    # Values come from registers or shared memory: "by reuse".
    "reuse": lambda limits, classes: total(limits, classes, lambda limit: (limit.get("reuse") or limit)["at_most"]),
    # A thread has more independent work, so that it waits less: "gain at most", and "waiting".
    "independent": lambda limits, classes: total(limits, [*classes, "waiting"], lambda limit: limit["at_most"]),
    # The lanes of a warp get equal work: "divergence".
    "divergence": lambda limits, classes: total(limits, ["divergence"], lambda limit: limit["at_most"]),
    # Another limit of registers, whose gain is measured.
    "registers": lambda limits, classes: max((limits[each]["at_most"] for each in ("more-registers", "fewer-registers") if each in limits),
                                             default=None),
    # More blocks are resident: "occupancy".
    "occupancy": lambda limits, classes: total(limits, ["occupancy"], lambda limit: limit["at_most"]),
    "launch": None,  # another grid: the idle share of the waves
}
# The class of operations that a rule of `lynxpp record` is about.
CLASS_OF_RULE = {"uncoalesced access": "global-access", "scattered access": "global-access", "bank conflicts": "shared-access",
                 "scattered bank conflicts": "shared-access", "tile bank conflicts": "shared-access", "shared atomics on one word": "atomic", "contended atomics": "atomic",
                 "divergent branch": "divergence", "uneven loop": "divergence", "idle lanes": "divergence", "uneven warps": "divergence",
                 "partial warps": "launch", "small blocks": "launch", "small grid": "launch", "tail of the grid": "launch",
                 "uneven blocks": "launch", "uneven multiprocessors": "launch", "local memory": "local-memory", "low occupancy": "occupancy"}
TIMED = {"cuda": 40, "cpu": 1}       # native launches of each kernel of a pair
TRIALS = {"cuda": 140, "cpu": 40}    # launches for `lynxpp limits`: its usual 60 for classes and 60 for lines
RECORDED = 3                         # launches for `lynxpp record`
MOST_SECONDS = 150                   # of one command
MOST_RECORDS = 4 << 20               # bytes of a file of trials that is kept
NO_GAIN, WORTHWHILE = 0.01, 0.03     # true gains below count as none; predictions from here on as a promise
BOUND = 0.9                          # of the true gain that a prediction must reach
LEAST_CORRELATION = 0.9              # of ranks of predicted and true gains
FASTEST, SLOWEST = 50, 500           # microseconds that a launch should take

Pair = collections.namedtuple("Pair", "program problem mending operation lines gains cpu_size held_out")


def read_table(path):
    with open(path, newline="") as file:
        return [Pair(row["program"], row["problem"], row["mending"], row["operation"], [int(line) for line in row["lines"].split()],
                     row["gains"] == "yes", int(row["cpu_size"]), row["held_out"] == "yes") for row in csv.DictReader(file)]


# The answers of the commands.

def times_of(stderr):
    """Returns {kernel: milliseconds (median, lower quartile, upper quartile)} that a program printed."""
    found = {kernel: tuple(map(float, numbers.split())) for kernel, numbers in re.findall(r"^(slow|mended)_ms (.*)$", stderr, re.MULTILINE)}
    if set(found) != {"slow", "mended"}:
        raise TestFailure(f"the program printed no times\n{stderr}")
    return found


def is_fault(pair, location):
    """Returns whether a location (file and line) is one of the lines at fault."""
    return location.get("file", "").split("/")[-1] == f"{pair.program}.cu" and location.get("line") in pair.lines


def total(limits, classes, figure):
    """Returns the sum of the figures of the classes that were tried, at most 1."""
    return min(1.0, sum(figure(limits[each]) for each in classes if each in limits))


def gone(limits, classes):
    """Returns the gain at most if the operations of the classes go: of one class as `lynxpp limits` says; of several what repeating them costs,
    since the gain of each is limited by the others, or what the clocks show of barriers if that is more."""
    tried = [each for each in classes if each in limits]
    return total(limits, tried, lambda limit: limit["at_most"] if len(tried) == 1 else max(limit["cost"], limit["at_most"]))


def classes_of(pair):
    return [one for each in pair.operation.split() for one in (ARITHMETIC if each == "arithmetic" else (each,))]


def line_of(pair, limit):
    """Returns columns about the most expensive line of a limit."""
    places = limit["lines"][0]["locations"] if limit["lines"] else limit["locations"]
    if not places:
        return {"line_right": None}
    # Lines are not tried if the class is in a single one.
    right = (any if limit["lines"] or pair.mending == "divergence" else all)(is_fault(pair, place) for place in places)
    return {"line_right": right, "line": " ".join(dict.fromkeys(f"{place['file'].split('/')[-1]}:{place['line']}" for place in places[:4]))}


def prediction_of(pair, answer):
    """Returns columns of the table from the JSON of `lynxpp limits`."""
    kernels = [kernel for kernel in answer["kernels"] if kernel["timed"]]
    if not kernels:
        raise TestFailure("no launch was timed")
    kernel = max(kernels, key=lambda each: each["native_ms"] * each["launches"])
    limits = {each["operation"]: each for each in kernel["limits"]}
    greatest = max((each for each in kernel["limits"] if each["operation"] != "waiting"), key=lambda each: each["at_most"], default=None)
    found = {"native_us": 1000 * kernel["native_ms"], "top": greatest["operation"] if greatest else "",
             "top_gain": greatest["at_most"] if greatest else None, "trials": kernel["timed"],
             "keeping_bytes": (kernel.get("moving") or {}).get("at_most"), **{f"of_{name}": limits[name]["at_most"] for name in ("waiting", "divergence") if name in limits}}
    if pair.mending == "launch":
        waves = kernel["waves"]
        return {**found, "predicted": waves["idle"] if waves else None}
    classes = classes_of(pair)
    # Changes that keep the bytes: all except those that drop accesses of global memory, and what is measured.
    drops = pair.mending == "removed" and not {"global-access", "async-copy"}.isdisjoint(classes)
    most = kernel["moving"]["at_most"] if kernel.get("moving") and not drops and pair.mending != "registers" else 1.0
    if pair.mending in ("independent", "occupancy"):
        most = min([most, *(1 - kernel[each]["at_most"] for each in ("arithmetic", "shared") if kernel.get(each))])
    own = [limits[each] for each in classes if each in limits]
    predicted = MENDINGS[pair.mending](limits, classes)
    predicted = None if predicted is None else min(predicted, most)
    if not own:
        reasons = [each["reason"] for each in kernel["untried"] if each["operation"] in classes]
        note = "" if predicted else f"{pair.operation} was not tried: {'; '.join(reasons) or 'none in the kernel'}"
        return {**found, "predicted": predicted or 0.0, "note": note}
    limit = max(own, key=lambda each: each["at_most"])
    interval = {"low": limit["low"], "high": limit["high"]} if len(own) == 1 and pair.mending == "removed" else {}
    return {**found, "predicted": predicted, **interval, "gone": total(limits, classes, lambda each: each["at_most"]),
            "patterns": total(limits, classes, lambda each: (each.get("pattern") or {"at_most": 0})["at_most"]),
            "reuse": total(limits, classes, lambda each: (each.get("reuse") or {"at_most": 0})["at_most"]), **line_of(pair, limit),
            "note": "; ".join([*limit["notes"], *(f"{count} registers" for count in limit["registers"])])}


def estimate_of(pair, answer):
    """Returns columns of the table from the JSON of `lynxpp report` about a run of `lynxpp record`."""
    findings = [each for each in answer["findings"]["list"] if each.get("benefit") is not None]
    own = max((each for each in findings if CLASS_OF_RULE.get(each["rule"]) in pair.operation.split()), key=lambda each: each["benefit"], default=None)
    first = max(findings, key=lambda each: each["benefit"], default=None)
    return {"estimated": own["benefit"] if own else 0.0, "estimate_rule": own["rule"] if own else "", "first_finding": first["rule"] if first else "",
            "estimate_line_right": is_fault(pair, own["place"]) if own and own.get("place") else None}


# The verdict over all pairs.

def judge(rows, prediction, line):
    """Returns what is known about one kind of prediction: `prediction` and `line` name its columns."""
    known = [row for row in rows if row.get("true") is not None and row.get(prediction) is not None]
    gaining = [row for row in known if row["true"] >= NO_GAIN]
    located = [row for row in known if row["true"] >= WORTHWHILE]

    def names(selected):
        return [row["program"] for row in selected]
    return {"pairs": len(known), "gaining": len(gaining),
            "spearman": spearman([row["true"] for row in known], [row[prediction] for row in known]) if len(known) > 2 else None,
            "bounded": names(row for row in gaining if row[prediction] >= BOUND * row["true"]),
            "not_bounded": names(row for row in gaining if row[prediction] < BOUND * row["true"]),
            "without_gain": names(row for row in known if row["true"] < NO_GAIN),
            "false_gains": names(row for row in known if row["true"] < NO_GAIN and row[prediction] >= WORTHWHILE),
            "lines_right": names(row for row in located if row.get(line) is True),
            "lines_wrong": names(row for row in located if row.get(line) is False)}


def sentences(name, rows, found, prediction):
    by_name = {row["program"]: row for row in rows}

    def missed(names):
        return "".join(f"; {each} (true {in_percent(by_name[each]['true'])} %, predicted {in_percent(by_name[each][prediction])} %)" for each in names)
    met = found["spearman"] is not None and found["spearman"] >= LEAST_CORRELATION
    return [f"{name}: {found['pairs']} pairs, Spearman's rank correlation with the true gain {shown(found['spearman'])}: "
            f"{'met' if met else 'missed'}, the goal is at least {LEAST_CORRELATION}",
            f"{name}: at least {BOUND} of the true gain in {len(found['bounded'])} of {found['gaining']} pairs that gain {NO_GAIN:.0%} or more"
            f"{missed(found['not_bounded'])}",
            f"{name}: below {WORTHWHILE:.0%} in {len(found['without_gain']) - len(found['false_gains'])} of {len(found['without_gain'])} pairs that gain "
            f"less than {NO_GAIN:.0%}{missed(found['false_gains'])}",
            f"{name}: line right in {len(found['lines_right'])} of {len(found['lines_right']) + len(found['lines_wrong'])} pairs that gain "
            f"{WORTHWHILE:.0%} or more; wrong: {', '.join(found['lines_wrong']) or 'none'}"]


COLUMNS = ("program", "mending", "operation", "expected", "held_out", "slow_us", "mended_us", "true", "spread", "predicted", "low", "high", "gone", "patterns", "reuse", "keeping_bytes", "of_waiting",
           "of_divergence", "top", "top_gain", "line",
           "line_right", "estimated", "estimate_rule", "first_finding", "estimate_line_right", "native_us", "trials", "seconds", "note")


def findings_of(rows, failures):
    findings = Findings("limits_pairs", "what `lynxpp limits` predicts and what mending gains")
    findings.failures = failures
    findings.data = {"rows": rows}
    for name, prediction, line in (("limits", "predicted", "line_right"), ("record", "estimated", "estimate_line_right")):
        found = judge(rows, prediction, line)
        findings.data[name] = found
        for sentence in sentences(name, rows, found, prediction):
            findings.say(sentence)
    for half, is_held_out in (("limits, pairs that rules were chosen on", False), ("limits, pairs that were held out", True)):
        part = [row for row in rows if row.get("held_out", False) == is_held_out]
        findings.data[half] = judge(part, "predicted", "line_right")
        for sentence in sentences(half, part, findings.data[half], "predicted")[:3]:
            findings.say(sentence)
    timed = [row for row in rows if row.get("slow_us") is not None]
    findings.say(f"top class as listed in {sum(row.get('top') in row['operation'].split() for row in rows if (row.get('true') or 0) >= WORTHWHILE)} of "
                 f"{sum((row.get('true') or 0) >= WORTHWHILE for row in rows)} pairs that gain {WORTHWHILE:.0%} or more")
    unexpected = [row["program"] for row in timed if (row["true"] >= WORTHWHILE) != row["expected"]]
    findings.say(f"gains other than the table expects: {', '.join(unexpected) or 'none'}")
    outside = [f"{row['program']} {row['slow_us']:.0f} µs" for row in timed if not FASTEST <= row["slow_us"] <= SLOWEST]
    findings.say(f"launches outside of {FASTEST} to {SLOWEST} µs: {', '.join(outside) or 'none'}")
    findings.table("Pairs: gains in percent of the slow kernel's time",
                   ["program", "mending", "classes", "slow µs", "mended µs", "true", "±", "limits", "interval", "line", "top class", "record",
                    "finding"],
                   [[row["program"], row["mending"], row["operation"], *(f"{row[key]:.1f}" if row.get(key) is not None else "" for key in ("slow_us", "mended_us")),
                     in_percent(row.get("true")), in_percent(row.get("spread")), in_percent(row.get("predicted")),
                     f"{in_percent(row['low'])} to {in_percent(row['high'])}" if "low" in row else "",
                     {True: "right", False: "wrong"}.get(row.get("line_right"), ""),
                     f"{row['top']} {in_percent(row['top_gain'])}" if row.get("top") else "", in_percent(row.get("estimated")),
                     row.get("estimate_rule", "")] for row in rows])
    return findings


def write_times(folder):
    """Writes OUT/limits_times.csv: the times of all launches of the trials, from which rules can be computed again."""
    with open(folder / "limits_times.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["program", "perturbation", "registers", "spill_bytes", "blocks_per_sm", "counts", "us"])
        for records in sorted((folder / "answers").glob("*.trials.jsonl")):
            for line in records.read_text().splitlines():
                record = json.loads(line)
                if record.get("record") != "trial" or record.get("note", "").startswith("nothing"):
                    continue
                counts = " ".join(f"{each['operation']}:{each['count']}:{each['of']}" for each in record.get("counts", []))
                table.writerow([records.name.split(".")[0], record.get("perturbation", ""), record.get("registers", ""), record.get("spill_bytes", ""),
                                record.get("blocks_per_sm", ""), counts, " ".join(f"{1000 * each:.3f}" for each in record.get("ms", []))])


def write_classes(folder):
    """Writes OUT/limits_classes.csv: the figures of each class of the kernel with the most time."""
    with open(folder / "limits_classes.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["program", "class", "at_most", "cost", "pattern", "reuse"])
        for path in sorted((folder / "answers").glob("*.limits.json")):
            kernels = [each for each in json.loads(path.read_text())["kernels"] if each["timed"]]
            for limit in max(kernels, key=lambda each: each["native_ms"] * each["launches"])["limits"] if kernels else []:
                figures = [limit["at_most"], limit["cost"], *((limit[key] or {}).get("at_most") for key in ("pattern", "reuse"))]
                table.writerow([path.name.split(".")[0], limit["operation"], *("" if each is None else f"{each:.5g}" for each in figures)])


def write(rows, failures, folder, machine):
    findings = findings_of(rows, failures)
    findings.write(folder, machine)
    with open(folder / "limits_pairs.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()} for row in rows)
    return findings


# The runs.

class Runner(common.Runner):
    """Measures pairs, on one GPU or on the cpu device."""

    def __init__(self, folder, device, answers, number=None):
        super().__init__(folder, device, MOST_SECONDS, variables={} if number is None else {"CUDA_VISIBLE_DEVICES": str(number)})
        self.answers = answers
        self.answers.mkdir(parents=True, exist_ok=True)
        self.results = {}    # of the slow kernels without instrumentation
        self.estimates = {}  # columns of earlier estimates of `lynxpp record`

    def command(self, pair, launches):
        size = [pair.cpu_size] if self.device == "cpu" else []
        return ["-d", self.device, "--", self.build.examples / "limits" / pair.program, "slow", launches, *size]

    def times(self, pair):
        size = [pair.cpu_size] if self.device == "cpu" else []
        program = self.build.examples / "limits" / pair.program
        run = self.run(program, "both", TIMED[self.device], *size, preload=self.device == "cpu")
        self.results[pair.program] = run.stdout
        return times_of(run.stderr)

    def limits(self, pair):
        answer = self.answers / f"{pair.program}.limits.json"
        records = self.answers / f"{pair.program}.trials.jsonl"
        run = self.run(self.build.command, "limits", "--json", answer, "-o", records, *self.command(pair, TRIALS[self.device]))
        (self.answers / f"{pair.program}.limits.txt").write_text(run.stderr)
        if records.stat().st_size > MOST_RECORDS:
            records.unlink()
        if run.stdout != self.results.get(pair.program, run.stdout):
            raise TestFailure(f"the result changed: {run.stdout!r} instead of {self.results[pair.program]!r}")
        return json.loads(answer.read_text())

    def record(self, pair):
        with tempfile.TemporaryDirectory() as folder:
            records = pathlib.Path(folder, "records.jsonl")
            self.run(self.build.command, "record", "-o", records, *self.command(pair, RECORDED))
            answer = self.run(self.build.command, "report", records, "--format", "json").stdout.decode()
        (self.answers / f"{pair.program}.record.json").write_text(answer)
        return json.loads(answer)


def described(pair):
    return {"program": pair.program, "mending": pair.mending, "operation": pair.operation, "expected": pair.gains, "held_out": pair.held_out}


def measure_pair(runner, pair, failures):
    """Returns one row of the table; a part that fails leaves its columns out and adds to `failures`."""
    row = described(pair)
    began = time.monotonic()

    def attempt(what, action):
        try:
            return action()
        except (TestFailure, subprocess.SubprocessError, OSError, ValueError, KeyError) as failure:
            failures.append(f"{pair.program}, {what}: {type(failure).__name__}: {failure}")
            lines = str(failure).splitlines() or [""]
            print(f"FAIL: {pair.program}, {what}: {next((line for line in lines if 'rror' in line), lines[0])[:300]}", flush=True)
            return None
    times = attempt("native times", lambda: runner.times(pair))
    answer = attempt("limits", lambda: prediction_of(pair, runner.limits(pair)))
    row.update(answer or {})
    if pair.program in runner.estimates:
        row.update(runner.estimates[pair.program])
    else:
        row.update(attempt("record", lambda: estimate_of(pair, runner.record(pair))) or {})
    if times:
        slow, mended = times["slow"], times["mended"]
        row.update(slow_us=1000 * slow[0], mended_us=1000 * mended[0], true=1 - mended[0] / slow[0],
                   spread=(mended[2] / slow[1] - mended[1] / slow[2]) / 2)
    row["seconds"] = time.monotonic() - began
    return row


def earlier_estimates(path):
    """Returns {program: columns} about `lynxpp record` from an earlier limits_pairs.csv."""
    with open(path, newline="") as file:
        return {row["program"]: {"estimated": float(row["estimated"]), "estimate_rule": row["estimate_rule"], "first_finding": row["first_finding"],
                                 "estimate_line_right": {"True": True, "False": False}.get(row["estimate_line_right"])}
                for row in csv.DictReader(file) if row["estimated"]}


def earlier_rows(folder):
    """Returns the rows of an earlier measurement in the folder that have both a true gain and a prediction."""
    saved = folder / "limits_pairs.json"
    rows = json.loads(saved.read_text())["data"]["rows"] if saved.exists() else []
    return [row for row in rows if row.get("true") is not None and row.get("predicted") is not None]


def measure(arguments):
    machine = common.machine_of(arguments.device, "limits_pairs.py")
    if machine is None:
        return 3
    folder = common.unpacked(arguments.source.resolve())
    pairs = read_table(folder / "examples" / "limits" / "pairs.csv")
    only = set(filter(None, arguments.only.split(",")))
    if unknown := only - {pair.program for pair in pairs}:
        print(f"error: unknown pair {', '.join(sorted(unknown))}; the table has {', '.join(pair.program for pair in pairs)}", file=sys.stderr)
        return 2
    out = arguments.out.resolve()
    runners = queue.SimpleQueue()
    for number in range(arguments.gpus):
        runners.put(Runner(folder, arguments.device, out / "answers", number if arguments.gpus > 1 else None))
    if arguments.estimates:
        for _ in range(arguments.gpus):
            runner = runners.get()
            runner.estimates = earlier_estimates(arguments.estimates)
            runners.put(runner)
    began, failures = time.monotonic(), []
    selected = [pair for pair in pairs if not only or pair.program in only]
    if only:  # in the order in which they are named, for a budget
        order = list(filter(None, arguments.only.split(",")))
        selected.sort(key=lambda pair: order.index(pair.program))
    rows = {row["program"]: row for row in earlier_rows(out)} if arguments.resume else {}
    selected = [pair for pair in selected if pair.program in only or pair.program not in rows]

    def one(pair):
        if time.monotonic() - began > arguments.budget:
            return None
        runner = runners.get()
        try:
            return measure_pair(runner, pair, failures)
        finally:
            runners.put(runner)
    findings = write(list(rows.values()), failures, out, machine)
    with concurrent.futures.ThreadPoolExecutor(arguments.gpus) as pool:
        for number, (pair, row) in enumerate(zip(selected, pool.map(one, selected)), 1):
            if row is None:
                failures.append(f"{pair.program}: no time was left (--resume continues)")
                continue
            rows[pair.program] = row
            findings = write([rows[each.program] for each in pairs if each.program in rows], failures, out, machine)
            print(f"{number}/{len(selected)} {pair.program}: true {in_percent(row.get('true'))} %, limits {in_percent(row.get('predicted'))} %, "
                  f"record {in_percent(row.get('estimated'))} %, {row['seconds']:.1f} s, {time.monotonic() - began:.0f} s in all", flush=True)
    write_times(out)
    write_classes(out)
    print("\n".join(findings.lines))
    print(f"{len(failures)} failures; {out / 'limits_pairs.md'}, {out / 'limits_pairs.csv'}")
    return 1 if failures else 0


def summarize(arguments):
    """Prints the summary of an earlier measurement again, for rules, a table or a model that changed since."""
    saved = json.loads((arguments.source / "limits_pairs.json").read_text())
    measured = {row["program"]: row for row in saved["data"]["rows"]}
    rows = []
    for pair in read_table(arguments.table or HERE.parents[1] / "examples" / "limits" / "pairs.csv"):
        if pair.program not in measured:
            continue
        row = {**measured[pair.program], **described(pair)}
        answer, records = (arguments.source / "answers" / f"{pair.program}.{kind}" for kind in ("limits.json", "trials.jsonl"))
        if arguments.build and records.exists():
            with tempfile.TemporaryDirectory() as folder:
                answer = pathlib.Path(folder, "limits.json")
                subprocess.run([arguments.build / "bin" / "lynxpp", "limits", "--from", records, "--json", answer], check=True, capture_output=True)
                row.update(prediction_of(pair, json.loads(answer.read_text())))
        elif answer.exists():
            row.update(prediction_of(pair, json.loads(answer.read_text())))
        rows.append(row)
    findings = findings_of(rows, saved["failures"])
    print("\n".join(findings.lines))
    if arguments.out:
        write(rows, saved["failures"], arguments.out, saved["machine"])
    return 0


def fill(tree, arguments):
    """Copies the command and the pairs to the folder `tree`."""
    common.copy_command(arguments.build, tree)
    sources, programs, target = HERE.parents[1] / "examples" / "limits", arguments.programs or arguments.build / "examples" / "limits", tree / "examples" / "limits"
    target.mkdir(parents=True)
    shutil.copy(sources / "pairs.csv", target)
    for pair in read_table(target / "pairs.csv"):
        shutil.copy(programs / pair.program, target)
        shutil.copy(sources / f"{pair.program}.cu", target)


def prepare(arguments):
    common.pack(arguments.out, lambda tree: fill(tree, arguments), ("limits_pairs.py", "cumapz.py"))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("--build", type=pathlib.Path, required=True)
    one.add_argument("--programs", type=pathlib.Path, help="folder of the pairs (default: BUILD/examples/limits)")
    one.add_argument("--out", type=pathlib.Path, required=True)
    two = commands.add_parser("measure")
    two.add_argument("source", type=pathlib.Path, metavar="FOLDER_OR_ARCHIVE")
    two.add_argument("--only", metavar="PAIR,PAIR…", default="", help="these, in this order; default: all pairs")
    two.add_argument("--out", type=pathlib.Path, default=pathlib.Path("limits-pairs"))
    two.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    two.add_argument("--gpus", type=int, default=1, help="measure this many pairs at a time, each on a GPU of its own")
    two.add_argument("--resume", action="store_true", help="keep the pairs of an earlier measurement in OUT and measure the others, or again those of --only")
    two.add_argument("--estimates", type=pathlib.Path, metavar="FILE", help="take the estimates of record from an earlier limits_pairs.csv")
    two.add_argument("--budget", type=float, default=math.inf, help="seconds after which no further pair starts")
    three = commands.add_parser("summary")
    three.add_argument("source", type=pathlib.Path, metavar="FOLDER")
    three.add_argument("--table", type=pathlib.Path, help="table of pairs (default: examples/limits/pairs.csv)")
    three.add_argument("--build", type=pathlib.Path, help="build folder whose `lynxpp limits` computes the answers from the times again")
    three.add_argument("--out", type=pathlib.Path, help="folder for the tables (default: only the summary is printed)")
    arguments = parser.parse_args()
    return {"prepare": prepare, "measure": measure, "summary": summarize}[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
