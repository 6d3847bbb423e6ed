"""`lynxpp why` for a program whose kernel waits forever, and for one whose kernels end.

usage: why_test.py BUILD_FOLDER
"""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop()).resolve()
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
from harness import clean_environment  # noqa: E402

COMMAND = BUILD / "bin" / "lynxpp"
PROGRAM = ROOT / "tests/end_to_end/programs/hanging.py"
DEVICE = "cpu"


class Program:
    """The program under `lynxpp run`, after its launch."""

    def __init__(self, *options, arguments=()):
        self._process = subprocess.Popen(
            [COMMAND, "run", "-d", DEVICE, *options, "--", sys.executable, PROGRAM, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment())
        self.said = self._process.stdout.readline()

    def why(self):
        return subprocess.run([COMMAND, "why", str(self._process.pid)], capture_output=True, text=True, env=clean_environment())

    def read_error(self):
        return self._process.stderr.readline()

    def end(self):
        """Lets the kernel end. Returns the exit status and what the program and lynxpp have printed."""
        output, errors = self._process.communicate(timeout=100)
        return self._process.returncode, output, errors


class Why(unittest.TestCase):
    def start(self, *options, arguments=()):
        program = Program(*options, arguments=arguments)
        self.addCleanup(program._process.kill)
        self.assertEqual(program.said, "launched\n", program._process.stderr.read() if not program.said else "")
        return program

    def ask_until(self, program, wanted):
        """Asks until the warps have arrived where they will stay."""
        for _ in range(1000):
            run = program.why()
            if wanted in run.stdout:
                return run
        self.fail(f"{wanted} is not in\n{run.stdout}{run.stderr}")

    def test_locations_of_warps_that_wait(self):
        program = self.start("-s", "hang_location")
        run = self.ask_until(program, "bar.sync: 2,")
        self.assertEqual(run.returncode, 0)
        first, *rest = run.stdout.splitlines()
        self.assertRegex(first, r"^hang, launch 0, grid 2, block 80: still running after \d+\.\d s$")
        self.assertEqual(sorted(rest), [
            "  warps finished: 3",
            "  warps in the loop at hanging.cu:5: 1, for example warp 0 of block 1",
            "  warps waiting at hanging.cu:7, bar.sync: 2, for example warp 2 of block 1"])
        status, output, errors = program.end()
        self.assertEqual((status, output), (0, "over\n"), errors)
        self.assertRegex(errors, r"hang +1 +2 +80 +6 +0")  # finished and unfinished warps
        self.assertNotIn("waiting at", errors)

    def test_launches_by_graphs(self):
        program = self.start("-s", "hang_location", arguments=["graph"])
        self.ask_until(program, "  warps waiting at hanging.cu:7, bar.sync: 2, for example warp 2 of block 1")
        status, output, errors = program.end()
        self.assertEqual((status, output), (0, "over\n"), errors)
        self.assertRegex(errors, r"hang +1 +2 +80 +6 +0")

    def test_launches_that_are_over_are_not_named(self):
        program = self.start("-s", "hang_location", arguments=["together"])
        for _ in range(1000):
            run = program.why()
            if run.returncode == 3:
                break
        self.assertEqual((run.returncode, run.stdout), (3, ""))
        self.assertIn("no instrumented launch that is running", run.stderr)
        self.assertEqual(program.end()[0], 0)

    def test_without_the_specification_the_launch_is_named(self):
        program = self.start("-s", "basic_block_count,warp_timeline")
        run = program.why()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"^hang, launch 0, grid 2, block 80: still running after .* s\nTo see where warps wait")
        program.end()

    def test_two_specifications_have_their_own_arrays(self):
        program = self.start("-s", "warp_timeline,hang_location,instruction_count")
        self.ask_until(program, "  warps waiting at hanging.cu:7, bar.sync: 2,")
        status, _, errors = program.end()
        self.assertEqual(status, 0)
        self.assertRegex(errors, r"hang +1 +2 +80 +6 +0")

    def test_a_time_limit_asks_by_itself(self):
        program = self.start("--hang", "1")
        lines = [program.read_error() for _ in range(4)]
        self.assertRegex(lines[0], r"hang, launch 0, grid 2, block 80: still running after \d+\.\d s")
        self.assertIn("  warps waiting at hanging.cu:7, bar.sync: 2, for example warp 2 of block 1\n", lines)
        self.assertEqual(program.end()[0], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
