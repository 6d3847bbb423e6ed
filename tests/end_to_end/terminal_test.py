"""Output to a terminal: records, PTX, specifications, names and paths from others cannot control it.

Argument: the build folder.
"""
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

from harness import Build, clean_environment

BUILD = None
WAIT = 120  # seconds; longer than anything here takes
# ESC, CSI as a character of C1 and as a byte, an override of the text's direction, an isolate, and a carriage
# return.
HOSTILE = "\x1b]0;title\x07 \u009b2J \u202egnp\u2066 \rover"
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)")
PROGRESS = re.compile("\r[^\n]*?\x1b\\[K")  # of the command itself


def on_terminal(*command, environment=None):
    """Returns the status, and everything that the command and its children write to the terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([str(each) if not isinstance(each, bytes) else each for each in command], stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=theirs, env={**clean_environment(), "TERM": "xterm", **(environment or {})})
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the last writer has exited
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(timeout=WAIT), shown


class TerminalTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def expect_clean(self, shown, *words):
        text = shown.decode()  # everything is UTF-8
        text = PROGRESS.sub("", text).replace("\r\n", "\n")
        found = CONTROL.search(text)
        self.assertIsNone(found, f"{found} in {text[:2000]!r}")
        for word in words:
            self.assertIn(word, text)

    def records(self):
        name = f"kernel{HOSTILE}"
        launch = {"record": "launch", "kernel": name, "demangled": name, "launch": 0, "device": f"cpu{HOSTILE}", "grid": [1, 1, 1], "block": [32, 1, 1],
                  "spec": f"spec{HOSTILE}", "results": {f"result{HOSTILE}": 7}, "units": {f"result{HOSTILE}": f"unit{HOSTILE}"},
                  "notes": [f"note{HOSTILE}"]}
        coverage = {"record": "coverage", "kernel": f"missing{HOSTILE}", "instrumented": False, "reason": f"reason{HOSTILE}", "launches": 1,
                    "instrumented_launches": 0, "sites": 0, "notes": [f"note{HOSTILE}"]}
        path = self.folder / "records.jsonl"
        path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in (launch, coverage)) + f"no record {HOSTILE}\n")
        return path

    def test_reports(self):
        path = self.records()
        for arguments in (["report", path], ["report", path, "--all"], ["report", path, "-f", "summary"], ["report", path, "-f", "csv"],
                          ["report", path, "-f", "json"], ["report", path, "--by", "device"], ["report", "diff", path, path, "--json"]):
            with self.subTest(arguments=arguments):
                _, shown = on_terminal(BUILD.command, *arguments)
                self.expect_clean(shown, "kernel")
        _, shown = on_terminal(BUILD.command, "report", "diff", path, path)
        self.expect_clean(shown, "nothing changed")

    def test_untrusted_texts(self):
        specification = self.folder / f"spec{HOSTILE}.cod"
        specification.write_bytes(f'// {HOSTILE}\nON_KERNEL_ENTRY: {{ "{HOSTILE}'.encode() + b" \x9b2J \xff;\n")
        for arguments in (["check", specification], ["run", "-s", specification, "--", "/bin/true"], ["report", specification],
                          ["run", "-s", "instruction_count", "-k", f"({HOSTILE}", "--", "/bin/true"], ["ptx", "stat", specification]):
            with self.subTest(arguments=arguments):
                status, shown = on_terminal(BUILD.command, *arguments)
                self.assertNotEqual(status, 0)
                self.expect_clean(shown, "error")

    def test_text_that_passes_through(self):
        """PTX with arbitrary comments; a pipe receives the text unchanged."""
        text = f".version 7.0\n.target sm_75\n.address_size 64\n// {HOSTILE} größer → 😀\n.visible .entry k()\n{{\n\tret;\n}}\n"
        path = self.folder / "a.ptx"
        path.write_text(text)
        command = [BUILD.command, "ptx", "instrument", path, "-s", "instruction_count"]
        status, shown = on_terminal(*command)
        self.assertEqual(status, 0, shown)
        self.expect_clean(shown, "größer → 😀", ".visible .entry k")
        piped = subprocess.run([str(each) for each in command], env=clean_environment(), capture_output=True, check=True).stdout
        self.assertIn(HOSTILE.encode(), piped)

    def test_a_measured_program(self):
        program = BUILD.examples / "vecadd"
        if not program.exists():
            self.skipTest(f"{program} is not built")
        variables = {"LD_PRELOAD": str(BUILD.library), "LYNXPP_DEVICE": "cpu"}
        for name in ("LYNXPP_SPEC", "LYNXPP_KERNELS", "LYNXPP_OUTPUT", "LYNXPP_DEVICE", "LYNXPP_LAUNCHES", "LYNXPP_WORDS"):
            with self.subTest(variable=name):
                value = f"nowhere/{HOSTILE}(" if name != "LYNXPP_SPEC" else f"./{HOSTILE}.cod"
                _, shown = on_terminal(program, environment={**variables, "LYNXPP_SPEC": "instruction_count", name: value})
                self.expect_clean(shown, "lynxpp:", "vecadd: ok")


if __name__ == "__main__":
    BUILD = Build(sys.argv.pop(1))
    unittest.main()
