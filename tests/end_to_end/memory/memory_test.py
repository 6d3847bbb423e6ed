"""Initial contents of the cpu device's memory, and memory allocated by graphs, through `lynxpp run` and
`check-run`.

Arguments: the build folder.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build  # noqa: E402

NODES = "node 10\nnode 0\nnode 0\nnode 11\n"
CAPTURED = ("begin: cudaSuccess\nallocate: cudaSuccess\nfree: cudaSuccess\nend: cudaSuccess\n" + NODES
            + "clone: cudaErrorNotSupported\ninstantiate: cudaSuccess\n" + 3 * "launch: cudaSuccess\n"
            + f"wait: cudaSuccess\nresult {3 * (5 + 63)}\n")
SHARED = ("add: cudaSuccess\nask: cudaSuccess\nsame address 1\n" + 4 * "launch: cudaSuccess\n" + "wait: cudaSuccess\n")


def built(again):
    return ("add: cudaSuccess\nadd: cudaSuccess\nask: cudaSuccess\nbytes 256, same address 1\ninstantiate: cudaSuccess\n"
            "launch: cudaSuccess\nwait: cudaSuccess\nfilled 70\nsome is used: 1\n"
            f"launch again: {again}\nfree: cudaSuccess\nlaunch: cudaSuccess\nfree: cudaSuccess\ntrim: cudaSuccess\n")


class Memory(unittest.TestCase):
    build = None

    def run_program(self, name, *arguments, options=()):
        program = self.build.examples / "tests" / name
        return self.build.run(self.build.command, "run", "-d", "cpu", *options, "--", program, *arguments, preload=False)

    def test_fresh_memory_is_zero(self):
        run = self.run_program("fresh")
        lines = run.stdout.decode().splitlines()
        self.assertEqual(len(lines), 16, run)
        for line in lines:
            self.assertTrue(line.endswith(": 0 cudaSuccess"), run)

    def test_fresh_memory_still_counts_as_uninitialized(self):
        run = self.build.run(self.build.command, "check-run", "--", self.build.examples / "tests" / "fresh", "read", preload=False)
        self.assertEqual(run.stdout, b"cudaMalloc 4096: 0 cudaSuccess\n", run)
        self.assertIn("uninitialized read in kernel count_others", run.stderr)

    def test_graphs_allocate_and_free(self):
        for options in ((), ("-s", "instruction_count")):
            run = self.run_program("graph_memory", options=options)
            self.assertEqual(run.stdout.decode(),
                             CAPTURED + built("cudaErrorInvalidValue") + built("cudaSuccess") + SHARED, run)
        self.assertIn("fill(int*, int)", run.stderr)

    def test_driver_api_memory(self):
        program = pathlib.Path(__file__).resolve().parent / "driver_program.py"
        run = self.build.run(self.build.command, "run", "-d", "cpu", "--", sys.executable, program, preload=False)
        self.assertEqual(run.stdout, b"done\n", run)

    def test_memory_allocated_by_graphs_is_checked(self):
        run = self.build.run(self.build.command, "check-run", "--", self.build.examples / "tests" / "graph_memory", preload=False)
        self.assertIn("== lynxpp check: no findings in ", run.stderr)


if __name__ == "__main__":
    Memory.build = Build(sys.argv.pop(1))
    if not (Memory.build.examples / "tests" / "fresh").exists():
        sys.exit(77)
    unittest.main()
