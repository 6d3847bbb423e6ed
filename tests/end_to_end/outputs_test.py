"""Outputs that are not plain files: the program continues, and files of other users stay unchanged.

Argument: the build folder.
"""
import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest

from harness import Build

BUILD = None
KERNEL = "_Z6vecaddPKfS0_Pfi"


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def lynxpp(self, *arguments, **environment):
        return BUILD.run(BUILD.command, *arguments, "--", BUILD.examples / "vecadd", preload=False, folder=self.folder, timeout=60,
                         environment={"LYNXPP_PTX_STORE": "off", "LYNXPP_CPU_CACHE": "off", "LYNXPP_DEVICE": "cpu", **environment})

    def pipe(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        return path

    def lines_of(self, path, run):
        """Returns what a reader of the pipe receives during `run`."""
        lines = []
        # A second writer, so that the reader waits for lynxpp but not forever.
        reader = threading.Thread(target=lambda: lines.extend(path.read_text().splitlines()))
        reader.start()
        with path.open("w"):
            done = run()
        reader.join()
        return done, [json.loads(line) for line in lines]

    def test_a_pipe_that_nobody_reads(self):
        run = self.lynxpp("run", "-s", "instruction_count", "-o", self.pipe())
        self.assertEqual(run.status, 0, run)
        self.assertIn("pipe: no process reads the pipe", run.stderr)

    def test_a_pipe_that_is_read(self):
        path = self.pipe()
        run, records = self.lines_of(path, lambda: self.lynxpp("run", "-s", "instruction_count", "-o", path))
        self.assertEqual(run.status, 0, run)
        self.assertIn(KERNEL, [record.get("kernel") for record in records])

    def test_findings_go_through_a_pipe(self):
        path = self.pipe()
        run, lines = self.lines_of(path, lambda: self.lynxpp("check-run", "-o", path))
        self.assertEqual(run.status, 0, run)
        self.assertEqual([line["type"] for line in lines], ["summary"])

    def test_findings_for_a_pipe_that_nobody_reads(self):
        run = self.lynxpp("check-run", "-o", self.pipe())
        self.assertEqual(run.status, 0, run)
        self.assertIn("pipe: no process reads the pipe", run.stderr)

    def test_a_device(self):
        for command in (["run", "-s", "instruction_count"], ["check-run"]):
            run = self.lynxpp(*command, "-o", "/dev/random")
            self.assertEqual(run.status, 2, run)
            self.assertIn("cannot write /dev/random: it is a device", run.stderr)

    def test_counters_for_a_pipe_that_nobody_reads(self):
        run = BUILD.run(BUILD.examples / "vecadd", environment={"LYNXPP_CPU_COUNTERS": str(self.pipe()), "LYNXPP_CPU_CACHE": "off"},
                        timeout=60)
        self.assertEqual(run.status, 0, run)
        self.assertIn("no process reads the pipe (LYNXPP_CPU_COUNTERS)", run.stderr)

    def test_dumps_and_traces_follow_no_link(self):
        mine = self.folder / "mine"
        mine.write_text("mine")
        dump, trace = self.folder / "dump", self.folder / "trace"
        dump.mkdir()
        for name in (f"{KERNEL}.ptx", f"{KERNEL}.instrumented.ptx"):
            (dump / name).symlink_to(mine)
        run = self.lynxpp("run", "-s", "memory_trace", "--dump", dump, "--trace", trace)
        self.assertEqual(run.status, 0, run)
        self.assertEqual(mine.read_text(), "mine")
        self.assertIn(f".entry {KERNEL}", (dump / f"{KERNEL}.ptx").read_text())
        self.assertEqual(len(list(trace.iterdir())), 1)


if __name__ == "__main__":
    BUILD = Build(sys.argv.pop(1))
    unittest.main()
