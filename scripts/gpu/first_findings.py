#!/usr/bin/env python3
"""Compares the first finding of `lynxpp record` with what mending it gains, on programs as newcomers write them.

usage: first_findings.py prepare --build build/release --out build/first-findings
       first_findings.py measure FOLDER_OR_ARCHIVE [--out FOLDER] [--device cuda|cpu] [--budget SECONDS] [--only NAME,NAME…]
       first_findings.py summary FOLDER

`prepare` compiles the programs in examples/first_findings and examples/agents, each also with its remedies
(-DMENDED=1 …), and writes FOLDER/package.tar.gz with the command, its libraries and the CUDA runtime; it needs nvcc and
the targets lynxpp_cli, lynxpp_preload and lynxpp_engine_so. Then `python3 FOLDER/first_findings.py measure
FOLDER/package.tar.gz` runs on a machine with a driver, Triton and JAX. For each program it measures

- the true gain of the best remedy, 1 - mended / original: medians of the kernels' times, native, before and after the
  rest;
- the findings of `lynxpp record`, and those of `lynxpp record --measure`.

It writes OUT/first_findings.md and .json after each program, and in OUT/raw the records, documents and pages; `--archive`
packs these into OUT/raw.tar.gz. Exit status: 0, 1 if a command failed, 3 without a GPU.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import common  # noqa: E402
from common import Findings, TestFailure, in_percent  # noqa: E402

MOST_SECONDS = 75  # of one command
LAST_SECONDS = 25  # of one that starts when the budget ends
IN_JAX = {"kmeans.py", "mlp.py"}  # slow to start: timed once
STEPS = {name: 20 for name in IN_JAX}  # so that the run, whose shares `record` shows, consists of steps
EXACT = {"hist", "mm"}  # other remedies change the input
ROUNDS = {"cuda": 30, "cpu": 2}

# `remedies`: what MENDED=1, 2 … does, as the rules whose remedy it is. One that mends what several rules report shows
# the gain of none of them.
BOTH = ()
Program = collections.namedtuple("Program", "name cpu_size remedies")
PROGRAMS = [
    Program("hist", 16384, [("contended atomics",), ("divergent branch",)]),
    Program("mm", 64, [("uncoalesced access",)]),
    Program("spmv", 4096, [BOTH, ("uneven loop",), ("scattered access",), ("scattered access",), ("scattered access",),
                           ("scattered access",)]),
    Program("bfs", 4096, [BOTH, ("uneven loop", "uneven blocks")]),
    Program("columns.py", None, [("uncoalesced access",), ("uncoalesced access",)]),
    Program("kmeans.py", None, [("contended atomics", "scattered access")]),
    Program("mlp.py", None, [("contended atomics", "scattered access")]),
]


class Runner(common.Runner):
    """Starts the programs of an unpacked package."""

    def __init__(self, folder, device, out, budget):
        super().__init__(folder, device, MOST_SECONDS, budget, LAST_SECONDS, folder / "first")
        self.raw = out / "raw"
        self.raw.mkdir(parents=True, exist_ok=True)

    def command(self, program, rounds=None, mended=0):
        """Returns the command line; `rounds` is an argument of the program."""
        arguments = [] if rounds is None else [rounds]
        if program.name.endswith(".py"):
            return [sys.executable, self.working_folder / program.name, *arguments]
        usual = re.search(r"argc > 1 \? atoi\(argv\[1\]\) : (\d+)( << (\d+))?;", (self.working_folder / f"{program.name}.cu").read_text())
        size = program.cpu_size if self.device == "cpu" else int(usual[1]) << int(usual[3] or 0)
        return [f"./{program.name}{'.' + str(mended) if mended else ''}", *([size, *arguments] if rounds or self.device == "cpu" else [])]

    def milliseconds(self, program, mended):
        """Returns (median, lower quartile, upper quartile), and what the program printed."""
        run = self.run(*self.command(program, ROUNDS[self.device], mended), variables={"MENDED": str(mended)}, preload=self.device == "cpu")
        self.raw.joinpath(f"{program.name}.{mended}.native.txt").write_text(run.stderr)
        return tuple(map(float, re.search(r"^kernel_ms (.*)$", run.stderr, re.MULTILINE)[1].split())), run.stdout

    def record(self, program):
        records = self.raw / f"{program.name}.jsonl"
        run = self.run(self.build.command, "record", "-d", self.device, "-o", records, "--", *self.command(program, STEPS.get(program.name)))
        (self.raw / f"{program.name}.txt").write_text(run.stderr)
        self.page(records)
        return json.loads(self.run(self.build.command, "report", records, "--format", "digest").stdout)["findings"]

    def record_measured(self, program):
        records = self.raw / f"{program.name}.measured.jsonl"
        run = self.run(self.build.command, "record", "--measure", "--format", "json", "-d", self.device, "-o", records, "--",
                       *self.command(program, 20 if self.device == "cuda" else None))
        (self.raw / f"{program.name}.measured.json").write_bytes(run.stdout)
        (self.raw / f"{program.name}.measured.txt").write_text(run.stderr)
        self.page(records)
        return json.loads(run.stdout)["findings"]

    def page(self, records):
        page = self.run(self.build.command, "report", records, "--format", "html")
        records.with_suffix(".html").write_bytes(page.stdout)


def gain_of(finding):
    gain = (finding or {}).get("gain") or {}
    return gain.get("share", gain.get("at_most"))  # an estimate, or a bound


def place_of(finding):
    return f"{pathlib.Path(finding['file']).name}:{finding['line']}" if finding.get("line") else finding["kernel"].split("(")[0]


def measure_program(runner, program, failures):
    """Returns the program's rows of the table, one for each finding of `record` that a remedy mends, and the first one."""
    def attempt(what, action):
        try:
            return action()
        except (TestFailure, subprocess.SubprocessError, OSError, ValueError, KeyError, TypeError) as failure:
            failures.append(f"{program.name}, {what}: {type(failure).__name__}: {failure}")
            print(f"FAIL: {program.name}, {what}: {str(failure)[-600:]}", flush=True)
            return None

    def times():
        found = [runner.milliseconds(program, mended) for mended in range(len(program.remedies) + 1)]
        if program.name in EXACT and len({printed for _, printed in found}) != 1:
            raise TestFailure(f"the results differ: {[printed for _, printed in found]}")
        return [milliseconds for milliseconds, _ in found]
    began = time.monotonic()
    before = attempt("native times", times)
    estimated = attempt("record", lambda: runner.record(program)) or []
    measured = {each["id"]: each for each in attempt("record --measure", lambda: runner.record_measured(program)) or []}
    after = attempt("native times", times) if runner.device == "cuda" and program.name not in IN_JAX else None
    rounds = [each for each in (before, after) if each]
    rows = []
    for number, finding in enumerate(estimated, 1):
        mended = [index for index, rules in enumerate(program.remedies, 1) if finding["class"] in rules]
        own = measured.get(finding["id"])
        gains = [max(1 - each[index][0] / each[0][0] for index in mended) for each in rounds] if mended else []
        rows.append({"program": program.name, "number": number, "finding": finding["class"], "line": place_of(finding), "estimated": gain_of(finding),
                     "measured": gain_of(own), "basis": own["gain"]["basis"] if own and own["gain"] else "", "remedy": mended,
                     "true": sum(gains) / len(gains) if gains else None, "spread": (max(gains) - min(gains)) / 2 if gains else None})
    return {"program": program.name, "rows": rows, "ms": rounds, "seconds": time.monotonic() - began}


def agents_example(runner, failures):
    """Runs the commands of docs/agents.md on the GPU; returns its texts."""
    texts = {}
    size = [] if runner.device == "cpu" else [4096]
    try:
        for name in ("slow", "fast"):
            texts[f"{name}.record"] = runner.run(runner.build.command, "record", "-d", runner.device, "-o", runner.raw / f"{name}.jsonl", "--",
                                                 f"./{name}", *size).stderr
            texts[f"{name}.bench"] = runner.run(runner.build.command, "bench", "-d", runner.device, "-r", 5, "-s", "instruction_count", "--",
                                                f"./{name}", *size).stdout.decode()
        texts["diff"] = runner.run(runner.build.command, "report", "diff", runner.raw / "slow.jsonl", runner.raw / "fast.jsonl", "--top", 5).stdout.decode()
    except (TestFailure, subprocess.SubprocessError) as failure:
        failures.append(f"the example of docs/agents.md: {failure}")
    for name, text in texts.items():
        (runner.raw / f"agents.{name}.txt").write_text(text)
    return texts


def findings_of(programs, failures, texts):
    findings = Findings("first_findings", "what record promises and what mending gains")
    header = ["program", "finding", "line", "estimated, %", "with --measure, %", "basis", "true gain, %", "± %"]
    for title, most in (("First findings", 1), ("All findings", 99)):
        findings.table(title, header, [
            [row["program"], f"{row['number']}. {row['finding']}", row["line"], in_percent(row["estimated"]), in_percent(row["measured"]), row["basis"],
             in_percent(row["true"]), in_percent(row["spread"])] for each in programs for row in each["rows"][:most]])
    findings.table("Native kernel times, ms", ["program", "original", "mended", "seconds in all"], [
        [each["program"], *(", ".join(f"{run[0][0]:.4g}" for run in each["ms"]),
                            "; ".join(", ".join(f"{times[0]:.4g}" for times in run[1:]) for run in each["ms"])), f"{each['seconds']:.0f}"] for each in programs])
    for name, text in texts.items():
        findings.say(f"agents, {name}:\n```\n{text}\n```")
    findings.failures = failures
    findings.data = {"programs": programs}
    return findings


def measure(arguments):
    machine = common.machine_of(arguments.device, "first_findings.py")
    if machine is None:
        return 3
    out = arguments.out.resolve()
    runner = Runner(common.unpacked(arguments.source.resolve()), arguments.device, out, arguments.budget)
    only = set(filter(None, arguments.only.split(",")))
    failures, programs, texts = [], [], {}
    if not only or "agents" in only:
        texts = agents_example(runner, failures)
    for program in PROGRAMS:
        if (only and program.name not in only) or (program.cpu_size is None and arguments.device == "cpu"):
            continue
        programs.append(measure_program(runner, program, failures))
        findings_of(programs, failures, texts).write(out, machine)
        for row in programs[-1]["rows"][:3]:
            print(f"{row['program']}: {row['number']}. {row['finding']}, {row['line']}: estimated {in_percent(row['estimated'])} %, "
                  f"--measure {in_percent(row['measured'])} % ({row['basis']}), true {in_percent(row['true'])} %", flush=True)
        print(f"{program.name}: {programs[-1]['seconds']:.1f} s", flush=True)
    if arguments.archive:
        with tarfile.open(out / "raw.tar.gz", "w:gz") as tar:
            tar.add(runner.raw, arcname="raw")
        shutil.rmtree(runner.raw)
    print(f"{len(failures)} failures; {out / 'first_findings.md'}")
    return 1 if failures else 0


def summarize(arguments):
    saved = json.loads((arguments.source / "first_findings.json").read_text())
    for table in findings_of(saved["data"]["programs"], [], {}).tables:
        print(f"\n{table[0]}\n" + "\n".join("  ".join(row) for row in [table[1], *table[2]]))
    return 0


def fill(tree, arguments):
    """Copies the command and the programs to the folder `tree`."""
    def compiled(source, name, *options):
        common.compile_program(arguments.nvcc, source, target / name, f"-I{HERE.parents[1]}", *options)
    common.copy_command(arguments.build, tree)
    sources, target = HERE.parents[1] / "examples" / "first_findings", tree / "first"
    shutil.copytree(sources, target)
    for program in PROGRAMS:
        for mended in range(len(program.remedies) + 1) if program.cpu_size else ():
            compiled(sources / f"{program.name}.cu", f"{program.name}.{mended}" if mended else program.name, f"-DMENDED={mended}")
    transpose = HERE.parents[1] / "examples" / "agents" / "transpose.cu"
    shutil.copy(transpose, target)
    (target / "padded.cu").write_text(transpose.read_text().replace("[tile][tile]", "[tile][tile + 1]"))
    compiled(transpose, "slow")
    compiled(target / "padded.cu", "fast")


def prepare(arguments):
    common.pack(arguments.out, lambda tree: fill(tree, arguments), ("first_findings.py",))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("--build", type=pathlib.Path, required=True)
    one.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    one.add_argument("--out", type=pathlib.Path, required=True)
    two = commands.add_parser("measure")
    two.add_argument("source", type=pathlib.Path, metavar="FOLDER_OR_ARCHIVE")
    two.add_argument("--only", metavar="NAME,NAME…", default="", help="default: all programs; also: agents")
    two.add_argument("--out", type=pathlib.Path, default=pathlib.Path("first-findings"))
    two.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    two.add_argument("--archive", action="store_true", help="pack OUT/raw into OUT/raw.tar.gz")
    two.add_argument("--budget", type=float, default=150, help="seconds after which no further command starts")
    three = commands.add_parser("summary")
    three.add_argument("source", type=pathlib.Path, metavar="FOLDER")
    arguments = parser.parse_args()
    return {"prepare": prepare, "measure": measure, "summary": summarize}[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
