"""Compares the exact output and messages of every command with the reviewed files in expected/. Times,
addresses and folders are replaced. LYNXPP_UPDATE_GOLDEN=1 rewrites the files, for review.

usage: commands_test.py BUILD_FOLDER
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
from harness import Build, clean_environment  # noqa: E402

BUILD = Build(sys.argv.pop())
EXPECTED = HERE / "expected"
INPUTS = HERE / "inputs"
VECADD = "{examples}/vecadd"
COPY = "ptx run kernel.ptx --grid 2 --block 32"

# File name in expected/, and the commands whose output it holds, in order. `@` before a word: nothing is
# preloaded.
COMMANDS = {
    "run": [f"run -s instruction_count -- {VECADD}", f"run -e 'ON_INSTRUCTION: MEM_READ: GLOBAL: count[opcodeId()]++;' -- {VECADD}",
            f"run -s instruction_count -k nothing -- {VECADD}", f"run -s no_such_name -- {VECADD}", "run -s instruction_count -- ./no_such_program",
            f"run -s bad.cod -- {VECADD}", f"run -s instruction_count -k '(' -- {VECADD}", "run"],
    "record": [f"record -o recorded.jsonl -- {VECADD}", "report recorded.jsonl --format summary", "record"],
    "bench": [f"bench -s instruction_count -r 1 -o kept.json -- {VECADD}", f"bench -s instruction_count -r 2 -c kept.json -- {VECADD}",
              f"bench -s instruction_count -c bad.jsonl -- {VECADD}", "bench -s instruction_count -- ./no_such_program", "bench"],
    "characterize": [f"characterize {VECADD} {{examples}}/divergence --csv kernels.csv --svg kernels.svg", f"characterize -k nothing -- {VECADD}",
                     "characterize ./no_such_program /bin/false", "characterize './a | ./b'", "characterize"],
    "limits": [f"limits -k nothing -- {VECADD}", "limits --from no_such_file.jsonl", "limits"],
    "report": ["report a.jsonl", "report a.jsonl --format csv", "report a.jsonl --format summary", "report a.jsonl --format json",
               "report a.jsonl --format perfetto", "report a.jsonl b.jsonl --by process", "report no_such_file.jsonl", "report bad.jsonl",
               "report a.jsonl --format nothing"],
    "merge": ["report merge a.jsonl b.jsonl -o merged.jsonl", "report merged.jsonl", "report merge no_such_file.jsonl -o merged.jsonl", "report merge"],
    "trace": ["report trace no_such_folder", "report trace .", "report trace a.jsonl", "report trace . -k '('", "report trace"],
    "diff": ["report diff a.jsonl b.jsonl", "report diff a.jsonl a.jsonl", "report diff a.jsonl b.jsonl --json", "report diff a.jsonl"],
    "check": ["check instruction_count", "check good.cod --explain kernel.ptx", "check bad.cod", "check warned.cod", "check -e 'n++;'",
              "check no_such_file.cod", "check"],
    "check-run": [f"check-run -- {VECADD}", "check-run"],
    "instrument": ["ptx instrument kernel.ptx -s good.cod -o out.ptx", "ptx instrument kernel.ptx -s good.cod -o -",
                   "ptx instrument kernel.ptx -s good.cod -k nothing -o out.ptx", "ptx instrument bad.ptx -s good.cod -o out.ptx", "ptx instrument"],
    "ptx": ["ptx stat kernel.ptx", "ptx cfg kernel.ptx", "ptx annotate kernel.ptx -s good.cod", "ptx stat bad.ptx", "ptx"],
    "ptx-run": [f"{COPY} -a f32[5,10]=iota -a f32[5,10] -a i32=50 --check --print 2:4 --output 2=copied.npy",
                f"{COPY} -a f32[5,10]=iota -a f32[5,10] -a i32=50 --expect 2=copied.npy",
                f"{COPY} -a f32[5,10]=const:1 -a f32[5,10] -a i32=50 --expect 2=copied.npy --tolerance 0.5",
                f"{COPY} -a f32[50]=random -a f32[50] -a i32=50 -s instruction_count",
                f"{COPY} -a f32[50]=random -a f32[49] -a i32=50 --check", f"{COPY} -a f32[50]=random -a f32[49] -a i32=50",
                f"{COPY} -a f32[50]=random -a i32=50", f"{COPY} -a f32[50]=random -a f32[50] -a f32[50]", f"{COPY} -a f32[50]=randon -a f32[50] -a i32=50",
                f"{COPY} -a f32[50]=@no_such_file.npy -a f32[50] -a i32=50", f"{COPY} -a f32[50] -a f32[50] -a i32=50 --expect 4=copied.npy",
                "ptx run kernel.ptx --grid 2 -a f32[50]", "ptx run bad.ptx --grid 1", "ptx run kernel.ptx"],
    "advise": ["advise {source}/examples/advise/product.access -m compute_1_3 -D rows=1 -D padding=0 -D transposed=0", "advise --machine list",
               "advise no_such_file.access", "advise"],
    "quality": [f"quality -- {VECADD}", f"quality --inputs -k vecadd -- {VECADD}", "quality -- ./no_such_program", "quality"],
    "calibrate": ["band calibrate --machine no_such_machine", "band calibrate --nothing"],
    "band": ["band calibrate --machine compute_1_3 --iterations 16 -o kept.json", f"band -c kept.json -l 3 -- {VECADD}",
             f"band -c kept.json -- {VECADD}", "band no_such_file.jsonl", "band"],
    "list": ["list", "list instruction_count", "list no_such_name"],
    "control": ["attach 999999999 -s instruction_count", "detach 999999999", "status 999999999", "top 999999999", "why 999999999", "attach", "detach", "status", "top", "why"],
    "triton": ["triton"],
    "other": ["--version", "no_such_command", "help no_such_command", "--no-such-option"],
}

# Commands for a running program, and its launches between them.
RUNNING = ["status {process}", "attach {process} -s instruction_count", "launch one", "launch two", "launch one", "status {process}",
           "attach {process} -s instruction_count -k ^two", "launch two", "top {process} --once", "detach {process}", "launch one",
           "status {process}", "attach {process} -s no_such_name"]


def plain(text, folder):
    """Removes parts that differ between runs and machines."""
    for path, name in ((folder, "FOLDER"), (str(BUILD.folder), "BUILD"), (str(ROOT), "SOURCE")):
        text = text.replace(str(path), name)
    text = re.sub(r"\b\d+(\.\d+)?(e-\d+)? ?(ms|us|ns|s|min)\b", r"N \3", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0xN", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\d\b", "DATE", text)
    text = re.sub(r" *\d+\.\d %(?=  )", "  N %", text)
    text = re.sub(r"(?m)^(\s+\S.*?) +N ms", r"\1  N ms", text)
    return "\n".join(line.rstrip() for line in text.split("\n"))


class Commands(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        for path in INPUTS.iterdir():
            shutil.copy(path, self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def said(self, command, process=""):
        words = [word.replace("{examples}", str(BUILD.examples)).replace("{source}", str(ROOT)).replace("{process}", str(process))
                 for word in shlex.split(command)]
        run = BUILD.run(BUILD.command, *words, preload=False, folder=self.folder.name,
                        environment={"COLUMNS": "100", "LYNXPP_DEVICE": "cpu", "XDG_RUNTIME_DIR": self.folder.name,
                                     "XDG_DATA_HOME": self.folder.name})
        text = f"$ lynxpp {command.replace('{examples}/', '').replace('{source}/', '')}\n{run.stdout.decode()}"
        if run.stderr:
            text += ("" if text.endswith("\n") else "\n") + "-- messages\n" + run.stderr
        return plain(text + ("" if text.endswith("\n") else "\n") + f"-- status {run.status}\n", self.folder.name)

    def check(self, name):
        self.compare(name, "\n".join(map(self.said, COMMANDS[name])))

    def test_bench(self):
        text = "\n".join(map(self.said, COMMANDS["bench"]))
        measured = re.sub(r"[+-]?\d+\.\d+( %)?", lambda found: "N %" if found[1] else "N", text)
        self.compare("bench", re.sub(" {2,}", "  ", measured))

    def compare(self, name, text):
        path = EXPECTED / f"{name}.txt"
        if os.environ.get("LYNXPP_UPDATE_GOLDEN"):
            EXPECTED.mkdir(exist_ok=True)
            path.write_text(text)
        self.assertEqual(text, path.read_text())

    def test_a_running_program(self):
        """`commanded` launches the requested kernels, so that the counts are known."""
        environment = {**clean_environment(), "XDG_RUNTIME_DIR": self.folder.name, "LYNXPP_OUTPUT": "out.jsonl", "LD_PRELOAD": str(BUILD.library),
                       "LYNXPP_DEVICE": "cpu", "LYNXPP_CONTROL": "1"}
        program = subprocess.Popen([BUILD.examples / "tests/commanded"], env=environment, cwd=self.folder.name, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            program.stdout.readline()
            texts = []
            for step in RUNNING:
                if step.startswith("launch "):
                    print(step.split()[1], file=program.stdin, flush=True)
                    texts.append(f"(the program: {program.stdout.readline().strip()})\n")
                else:
                    texts.append(self.said(step, program.pid))
        finally:
            program.kill()
            program.communicate()
        text = re.sub(rf"\b{program.pid}\b", "PROCESS", "\n".join(texts))
        text = re.sub(r"(?m)^(outstanding +)\d+$", r"\1N", text)
        self.compare("control-running", text.replace("{process}", "PROCESS"))


for each in COMMANDS.keys() - {"bench"}:
    setattr(Commands, f"test_{each.replace('-', '_')}", lambda self, name=each: self.check(name))


class Table(unittest.TestCase):
    def test_covers_every_command(self):
        help = BUILD.run(BUILD.command, "--help", preload=False).stdout.decode()
        commands = re.findall(r"(?m)^  ([a-z][a-z-]*)  ", help)
        self.assertIn("Measure a program:\n  run ", help)
        used = {command.split()[0] for group in COMMANDS.values() for command in group if not command.startswith("-")}
        self.assertEqual(sorted(set(commands) - used - {"lsp"}), [], "lsp speaks a protocol: tests/cli/lsp")


if __name__ == "__main__":
    if not (BUILD.examples / "vecadd").exists():
        print("skipped: the examples need nvcc")
        sys.exit(77)
    unittest.main()
