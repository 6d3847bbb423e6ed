"""scripts/characterize: its table against the cpu device's own counters, and the correlations against closed forms.

usage: characterize_test.py BUILD_FOLDER
"""
import collections
import csv
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop()).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
from harness import Build  # noqa: E402

SCRIPT = ROOT / "scripts/characterize"
APPS = ("vecadd", "divergence", "histogram")
loader = importlib.machinery.SourceFileLoader("characterize", str(SCRIPT))
characterize = importlib.util.module_from_spec(importlib.util.spec_from_loader("characterize", loader))
loader.exec_module(characterize)

if not (BUILD / "examples/vecadd").exists():
    print("SKIP: the examples were not built")
    sys.exit(77)


class Characterize(unittest.TestCase):
    def test_the_table(self):
        build = Build(BUILD)
        expected = {}
        for app in APPS:
            _, counters = build.count(build.examples / app)
            of_kernel = collections.defaultdict(collections.Counter)
            for launch in counters:
                counts = of_kernel[launch["kernel"]]
                counts["launches"] += 1
                counts["threads"] += launch["thread_instructions"]
                counts["warps"] += launch["warp_instructions"]
                counts["branches"] += launch["branches"]["warps"]
                counts["divergent"] += launch["branches"]["divergent"]
            expected[app] = sorted((c["launches"], c["threads"], c["warps"], c["branches"], c["divergent"]) for c in of_kernel.values())
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "table.csv")
            ran = subprocess.run([SCRIPT, "--build", BUILD, "-d", "cpu", "--csv", table, *(str(build.examples / app) for app in APPS)],
                                 capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            rows = list(csv.DictReader(table.read_text().splitlines()))
        self.assertIn("correlation", ran.stdout)
        for app in APPS:
            found = sorted((row for row in rows if row["program"] == app),
                           key=lambda row: (int(row["launches"]), int(row["thread_instructions"]), int(row["warp_instructions"])))
            self.assertEqual(len(found), len(expected[app]), app)
            for row, (launches, threads, warps, branches, divergent) in zip(found, expected[app]):
                self.assertEqual((int(row["launches"]), int(row["thread_instructions"]), int(row["warp_instructions"])), (launches, threads, warps))
                self.assertAlmostEqual(float(row["simd"]), threads / (32 * warps))
                self.assertEqual(row["divergence"], str(divergent / branches) if branches else "")

    def test_correlations(self):
        rows = [{"a": x, "b": 3 - 2 * x, "c": x % 2, "d": 1.1, "e": x if x > 1 else None} for x in range(6)]
        self.assertAlmostEqual(characterize.correlation(rows, "a", "a")[0], 1)
        self.assertAlmostEqual(characterize.correlation(rows, "a", "b")[0], -1)
        # covariance 1.5, variances 17.5 and 1.5
        self.assertAlmostEqual(characterize.correlation(rows, "a", "c")[0], 1.5 / (17.5 * 1.5) ** 0.5)
        self.assertEqual(characterize.correlation(rows, "a", "d"), (None, 6))
        self.assertEqual(characterize.correlation(rows[:3], "a", "e"), (None, 1))
        self.assertEqual(characterize.correlation(rows, "b", "e")[1], 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
