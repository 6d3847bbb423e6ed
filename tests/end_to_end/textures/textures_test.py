"""A program with textures and surfaces on the cpu device: its results are right, unchanged by
instrumentation, and texture reads are counted as such.

usage: textures_test.py BUILD_FOLDER
"""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
from harness import Build, clean_environment  # noqa: E402

PROGRAM = BUILD.resolve() / "examples/tests/textures"
THREADS = 16 * 16

if not PROGRAM.exists():
    print(f"SKIP: {PROGRAM} is not built")
    sys.exit(77)


class Textures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.build = Build(BUILD)
        cls.native = cls.build.run(PROGRAM)
        assert cls.native.status == 0, str(cls.native)

    def test_known_values_are_right(self):
        lines = self.native.stdout.decode().splitlines()
        self.assertEqual(len(lines), 22, self.native)
        for line in lines:
            self.assertIn(" 0 wrong", line)

    def test_instrumented_kernels_read_the_same(self):
        for spec in ("instruction_count", "device_memory_profile", "memory_trace", "quality,branch_divergence"):
            with self.subTest(spec=spec):
                run, records = self.build.measure(PROGRAM, spec=spec)
                self.assertEqual(run.status, 0, run)
                self.assertEqual(run.stdout, self.native.stdout)
                self.assertTrue(records.launches)
                self.assertTrue(all("results" in each for each in records.launches), run)

    def test_every_mode_gives_the_same_results(self):
        for variables in ({"LYNXPP_CPU_TIER": "segments"}, {"LYNXPP_CPU_TIER": "forms"},
                          {"LYNXPP_CPU_CHECK": "memory,race,init,sync"}, {"LYNXPP_CPU_COUNTERS": "/dev/null"}):
            with self.subTest(variables=variables):
                run = self.build.run(PROGRAM, environment=variables)
                self.assertEqual(run.stdout, self.native.stdout)
                if "LYNXPP_CPU_CHECK" in variables:
                    self.assertIn("no findings in 25 launches", run.stderr)

    def test_texture_reads_have_their_own_class(self):
        run, records = self.build.measure(PROGRAM, spec=ROOT / "tests/end_to_end/textures/texture_accesses.cod")
        self.assertEqual(run.stdout, self.native.stdout)
        results = {each["kernel"]: each["results"] for each in records.launches}

        def by_name(name):
            return next(values for kernel, values in results.items() if name in kernel)

        self.assertEqual(by_name("read_line")["reads"], 2 * THREADS)
        self.assertEqual(by_name("read_cube")["reads"], 4 * THREADS)
        self.assertEqual(by_name("read_levels")["reads"], 3 * THREADS)
        self.assertEqual(by_name("turn_plane")["reads"], 3 * THREADS)
        self.assertEqual(by_name("turn_plane")["writes"], 2 * THREADS)
        self.assertEqual(by_name("fill_slices")["writes"], 6 * THREADS)

    def test_reports_what_is_not_counted(self):
        _, records = self.build.measure(PROGRAM, spec="device_memory_profile")
        notes = {each["kernel"]: each.get("notes", []) for each in records.coverage}
        of_levels = next(found for kernel, found in notes.items() if "read_levels" in kernel)
        self.assertIn("device_memory_profile: 3 instructions on textures and surfaces are not counted: they have no address",
                      of_levels)
        outcome = subprocess.run([self.build.command, "advise", "-d", "cpu", "--", PROGRAM], capture_output=True, text=True,
                                 timeout=300, env=clean_environment())
        self.assertIn("read_levels(unsigned long long, Results*): accesses by 3 instructions on textures and surfaces were "
                      "not observed", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
