"""The progress of long commands is shown on a terminal, disappears at the end, and is shown nowhere else.

usage: progress_test.py BUILD_FOLDER
"""
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
INPUTS = HERE / "golden/inputs"
LYNXPP = pathlib.Path(sys.argv.pop()).resolve() / "bin/lynxpp"
CLEARED = b"\r\x1b[K"


def on_terminal(*words):
    """Returns a command's standard error if that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([LYNXPP, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, cwd=INPUTS,
                               env={**os.environ, "COLUMNS": "100"})
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert process.wait() == 0, text
    return text


def on_pipe(*words):
    return subprocess.run([LYNXPP, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, check=True, cwd=INPUTS).stderr


class Progress(unittest.TestCase):
    def check(self, words, shown):
        text = on_terminal(*words)
        self.assertIn(shown, text)
        self.assertIn(CLEARED, text[text.rindex(shown) + len(shown):], "the line is gone at the end")
        self.assertNotIn(shown, on_pipe(*words))

    def test_report(self):
        self.check(["report", "a.jsonl"], b"\rreading ")
        self.check(["report", "a.jsonl", "b.jsonl"], b"(file 1 of 2): 0 records")

    def test_instrument(self):
        text = (INPUTS / "kernel.ptx").read_text()
        with tempfile.TemporaryDirectory() as folder:
            self.check(["ptx", "instrument", "kernel.ptx", "-s", "instruction_count", "-o", pathlib.Path(folder, "out.ptx")],
                       b"\rkernel 1 of " + str(text.count(".entry")).encode())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
