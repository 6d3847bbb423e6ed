"""lynxpp characterize: compares its table with the cpu device's own counters, and the correlations with
closed forms.

usage: characterize_test.py BUILD_FOLDER
"""
import collections
import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop()).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
from harness import Build  # noqa: E402

APPS = ("vecadd", "divergence", "histogram")

if not (BUILD / "examples/vecadd").exists():
    print("SKIP: the examples were not built")
    sys.exit(77)


def counted(build, app):
    """The device's counts for each kernel: launches, thread and warp instructions, branches, divergent
    branches."""
    _, counters = build.count(build.examples / app)
    of_kernel = collections.defaultdict(collections.Counter)
    for launch in counters:
        counts = of_kernel[launch["kernel"]]
        counts["launches"] += 1
        counts["threads"] += launch["thread_instructions"]
        counts["warps"] += launch["warp_instructions"]
        counts["branches"] += launch["branches"]["warps"]
        counts["divergent"] += launch["branches"]["divergent"]
    return sorted((c["launches"], c["threads"], c["warps"], c["branches"], c["divergent"]) for c in of_kernel.values())


def pearson(pairs):
    means = [sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1)]
    products = [sum((pair[a] - means[a]) * (pair[b] - means[b]) for pair in pairs) for a, b in ((0, 1), (0, 0), (1, 1))]
    return products[0] / (products[1] * products[2]) ** 0.5


class Characterize(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.build = Build(BUILD)

    def path(self, name):
        return pathlib.Path(self.folder.name, name)

    def characterize(self, *words):
        return subprocess.run([BUILD / "bin/lynxpp", "characterize", "-d", "cpu", *words], capture_output=True, text=True)

    def rows(self, *words):
        ran = self.characterize("--csv", self.path("table.csv"), *words)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return list(csv.DictReader(self.path("table.csv").read_text().splitlines())), ran.stdout

    def test_the_table(self):
        rows, text = self.rows(*(str(self.build.examples / app) for app in APPS))
        for app in APPS:
            expected = counted(self.build, app)
            found = sorted((row for row in rows if row["program"] == app),
                           key=lambda row: (int(row["launches"]), int(row["thread_instructions"]), int(row["warp_instructions"])))
            self.assertEqual(len(found), len(expected), app)
            for row, (launches, threads, warps, branches, divergent) in zip(found, expected):
                self.assertEqual((int(row["launches"]), int(row["thread_instructions"]), int(row["warp_instructions"])), (launches, threads, warps))
                self.assertAlmostEqual(float(row["simd"]), threads / (32 * warps))
                if branches:
                    self.assertAlmostEqual(float(row["divergence"]), divergent / branches)
                else:
                    self.assertEqual(row["divergence"], "")
        compared = 0
        for line in text.split("correlation")[1].split("\n\n")[0].splitlines()[1:]:
            one, other, value, kernels = line.split()
            pairs = [(float(row[one]), float(row[other])) for row in rows if row[one] and row[other]]
            self.assertEqual(int(kernels), len(pairs))
            if value != "-":
                self.assertAlmostEqual(float(value), pearson(pairs), places=3)
                compared += 1
        self.assertGreater(compared, 0)
        self.assertIn("\n\nTrust: counted; exact for PTX; PTX branches; equal to ncu in 0 of 45 kernels; ", text)

    def test_ways_to_name_programs(self):
        vecadd = str(self.build.examples / "vecadd")
        alone, _ = self.rows(vecadd + " 3000")
        self.assertEqual([row["program"] for row in alone], ["vecadd"])
        self.path("programs.txt").write_text(f"# programs\n\n'{vecadd}' \"3000\"\n")
        for words in (["--", vecadd, "3000"], ["-f", self.path("programs.txt")]):
            self.assertEqual(self.rows(*words)[0], alone)
        twice, _ = self.rows(vecadd + " 3000", "--", vecadd, "3000")
        self.assertEqual(twice, alone + alone)

    def test_one_program_fails_and_the_others_continue(self):
        ran = self.characterize("./no_such_program", "/bin/false", "/bin/true", str(self.build.examples / "vecadd"))
        self.assertEqual(ran.returncode, 1)
        self.assertIn("cannot find the program './no_such_program'", ran.stderr)
        self.assertIn("failed with exit code 1", ran.stderr)
        self.assertIn("/bin/true launched no kernel", ran.stderr)
        self.assertIn("vecadd", ran.stdout)
        for words, message in ((["./a 'b"], "quotation mark"), (["./a | ./b"], "not a program with arguments"), ([], "no program to run"),
                               (["$NO_SUCH_VARIABLE_HERE"], "not set"), (["-k", "(", "/bin/true"], "--kernels")):
            ran = self.characterize(*words)
            self.assertEqual(ran.returncode, 2, ran.stderr)
            self.assertIn(message, ran.stderr)

    def test_the_plot(self):
        rows, _ = self.rows("--svg", self.path("plot.svg"), *(str(self.build.examples / app) for app in APPS))
        dots = xml.etree.ElementTree.parse(self.path("plot.svg")).iter("{http://www.w3.org/2000/svg}circle")
        measures = ("simd", "divergence", "memory", "intensity")
        pairs = sum(bool(row[one] and row[other]) for row in rows for one in measures for other in measures if one != other)
        self.assertEqual(sum(1 for _ in dots), pairs + len(APPS))

    def test_every_row_of_plots_has_its_scale(self):
        rows, _ = self.rows("--svg", self.path("plot.svg"), *(str(self.build.examples / app) for app in APPS))
        texts = list(xml.etree.ElementTree.parse(self.path("plot.svg")).iter("{http://www.w3.org/2000/svg}text"))
        for i, measure in enumerate(("simd", "divergence", "memory", "intensity")):
            greatest = max(1, *(float(row[measure]) for row in rows if row[measure]))
            top = 46 + i * (170 + 14)
            self.assertEqual([text.text for text in texts if float(text.get("y")) == top + 10], [f"{greatest:.3g}"], measure)
            self.assertIn("0", [text.text for text in texts if float(text.get("y")) == top + 170], measure)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
