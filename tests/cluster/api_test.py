"""lynxpp.h: a program that reads its own results while it runs.

usage: api_test.py BUILD_FOLDER
"""
import pathlib
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))
from harness import Build, read_json_lines  # noqa: E402

BUILD = Build(sys.argv.pop())


class FromC(unittest.TestCase):
    def test_without_lynxpp_every_answer_says_so(self):
        run = BUILD.run(BUILD.folder / "bin" / "api_program", preload=False)
        self.assertEqual(run.stdout.decode().splitlines(),
                         ["attached -1", "attach nonsense -1", "attached -1", "attach -1", "attached -1", "again -1", "poll 0 0, missed 0",
                          "attached -1"])

    def test_with_lynxpp_errors_are_reported_at_once(self):
        run = BUILD.run(BUILD.folder / "bin" / "api_program")
        self.assertEqual(run.stdout.decode().splitlines(),
                         ["attached 0", "attach nonsense 0", "attached 0", "attach 1", "attached 1", "again 1", "poll 0 0, missed 0",
                          "attached 0"], run)
        self.assertIn("no_such_specification", run.stderr)


@unittest.skipUnless((BUILD.examples / "adaptive").exists(), "the example programs were not built (no nvcc)")
class Adaptive(unittest.TestCase):
    def run_adaptive(self, *arguments, **options):
        run = BUILD.run(BUILD.examples / "adaptive", *arguments, **options)
        self.assertEqual(run.status, 0, run)
        self.assertIn(b"adaptive: ok, checksum 0x", run.stdout)
        return run

    def test_selects_the_better_kernel_and_runs_it_uninstrumented(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            run = self.run_adaptive(200, 300, 7, environment={"LYNXPP_OUTPUT": str(output), "LYNXPP_TABLE": "0"})
            records = read_json_lines(output)
        self.assertIn("7 launches of by_tile", run.stderr)
        launches = [record for record in records if record["record"] == "launch"]
        self.assertEqual([record["demangled"].split("(")[0] for record in launches], ["by_element", "by_tile"])
        for record in launches:
            results = record["results"]
            name = record["demangled"].split("(")[0]
            told = re.search(rf"{name} moves (\d+) sectors", run.stderr)
            self.assertEqual(int(told[1]), results["load_sectors"] + results["store_sectors"])

    def test_with_one_row_the_other_kernel_is_better(self):
        # Both load 64 sectors. By element, 64 are stored; by tile, each of 256 warps stores two elements in a separate sector.
        run = self.run_adaptive(1, 512, 3)
        moved = re.findall(r"moves (\d+) sectors", run.stderr)
        self.assertEqual(moved, ["128", "320"])
        self.assertIn("3 launches of by_element", run.stderr)

    def test_output_is_that_of_a_run_without_lynxpp(self):
        # The library brings the cpu device; without an attached specification there are no results.
        instrumented = self.run_adaptive()
        self.assertEqual(self.run_adaptive(environment={"LYNXPP_KERNELS": "none"}).stdout, instrumented.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
