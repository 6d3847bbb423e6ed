"""`lynxpp limits` on kernels with a planted problem and on the same kernels mended, on the modelled clock: the planted
problem comes first, and the mended kernel is not limited by its pattern.

usage: limits_test.py BUILD_FOLDER        exit status 77 if the programs were not built
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from harness import Build, clean_environment  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

BUILD = Build(sys.argv.pop())
PROGRAM = BUILD.examples / "tests" / "limits"
if not PROGRAM.exists():
    sys.exit(77)
SOURCE = pathlib.Path(__file__).parent / "programs" / "limits.cu"
SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema" / "limits.schema.json"
# Not contended atomics: the modelled clock serializes them by word, and an added one is on another word.
PLANTED = {"conflicts": "shared-access", "strided": "global-access", "barriers": "barrier"}
LINES = {"conflicts": "sum += tile[lane]", "strided": "sum += own[", "barriers": "if (has_needless)"}


def lynxpp(*arguments):
    return subprocess.run([str(BUILD.command), *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env=clean_environment(), check=False)


def limits(folder, *options, launches=20):
    """Returns the run and the kernels of its JSON by plain name."""
    output = pathlib.Path(folder, "limits.json")
    run = lynxpp("limits", "-d", "cpu", "--json", output, *options, "--", PROGRAM, launches)
    data = json.loads(output.read_text()) if output.exists() else {"kernels": []}
    return run, data, {each["demangled"].split("(")[0]: each for each in data["kernels"]}


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.records, page = pathlib.Path(folder, "trials.jsonl"), pathlib.Path(folder, "page.html")
            cls.run_, cls.data, cls.kernels = limits(folder, "-o", cls.records, "--html", page)
            cls.page = page.read_text() if page.exists() else ""
            cls.again = lynxpp("limits", "--from", cls.records)

    def limit(self, kernel, operation):
        return next((each for each in self.kernels[kernel]["limits"] if each["operation"] == operation), None)

    def of_another_pattern(self, kernel, operation):
        limit = self.limit(kernel, operation)
        return limit["pattern"] or limit

    def test_results_do_not_change(self):
        native = BUILD.run(PROGRAM, 20)
        self.assertEqual((self.run_.returncode, self.run_.stdout.encode()), (0, native.stdout), self.run_.stderr)

    def test_the_planted_problem_comes_first(self):
        for kernel, operation in PLANTED.items():
            with self.subTest(kernel=kernel):
                top = self.kernels[kernel]["limits"][0]
                self.assertEqual((top["operation"], top["verdict"]), (operation, "limited"), self.kernels[kernel]["limits"])
                self.assertGreater(top["at_most"], 0.2)

    def test_the_mended_kernel_is_not_limited_by_it(self):
        for kernel, operation in PLANTED.items():
            with self.subTest(kernel=kernel):
                before, after = (self.of_another_pattern(name, operation)["at_most"] * self.kernels[name]["native_ms"] for name in (kernel, kernel + "_mended"))
                self.assertLess(after, before / 3)
                if kernel != "strided":
                    self.assertLess(self.of_another_pattern(kernel + "_mended", operation)["at_most"], 0.03)

    def test_the_line_is_found(self):
        text = SOURCE.read_text().splitlines()
        for kernel, operation in PLANTED.items():
            with self.subTest(kernel=kernel):
                limit = self.limit(kernel, operation)
                locations = limit["lines"][0]["locations"] if limit["lines"] else limit["locations"]
                self.assertIn(LINES[kernel], "\n".join(text[each["line"] - 1] for each in locations))

    def test_the_json_is_as_documented(self):
        if jsonschema is None:
            self.skipTest("the package jsonschema is not installed")
        jsonschema.validate(self.data, json.loads(SCHEMA.read_text()))

    def test_times_are_labelled_as_modelled(self):
        self.assertTrue(all(each["is_modelled"] for each in self.data["kernels"]))
        self.assertIn("(modelled, not measured)", " ".join(self.run_.stderr.split()))

    def test_saved_records_yield_the_same_tables(self):
        self.assertEqual(self.again.returncode, 0, self.again.stderr)
        self.assertIn(self.again.stdout, self.run_.stderr)

    def test_the_page_has_a_bar_for_each_class(self):
        classes = sum(len(each["limits"]) for each in self.data["kernels"])
        self.assertEqual(self.page.count("<title>") - 1, classes)

    def test_the_budget_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            _, _, kernels = limits(folder, "-k", "conflicts", "-n", 5)
            self.assertEqual(set(kernels), {"conflicts", "conflicts_mended"})
            for each in kernels.values():
                self.assertLessEqual(sum(limit["operation"] not in ("waiting", "divergence") for limit in each["limits"]), 2)

    def test_what_no_class_explains_comes_last(self):
        for name, kernel in self.kernels.items():
            self.assertEqual(kernel["limits"][-1]["operation"], "waiting", name)
        first, *_, waiting = self.kernels["conflicts"]["limits"]
        self.assertAlmostEqual(first["cost"] + waiting["at_most"], 1)

    def test_remedies_keep_the_results(self):
        with tempfile.TemporaryDirectory() as folder:
            run, data, kernels = limits(folder, "-k", "conflicts", "--try")
        self.assertEqual((run.returncode, run.stdout), (0, self.run_.stdout), run.stderr)
        remedies = {each["operation"]: each for each in kernels["conflicts"]["remedies"]}
        self.assertIn("read-only-loads", remedies, run.stderr)
        self.assertEqual({each["results"] for each in remedies.values()}, {"identical"})
        self.assertEqual(remedies["read-only-loads"]["predicted_by"], "global-access")
        self.assertIn("results are identical.", " ".join(run.stderr.split()))
        self.assertEqual(self.kernels["conflicts"]["remedies"], [], "only with --try")
        if jsonschema is not None:
            jsonschema.validate(data, json.loads(SCHEMA.read_text()))

    def test_one_perturbation(self):
        with tempfile.TemporaryDirectory() as folder:
            _, _, kernels = limits(folder, "-p", "barrier:again", "-p", "barrier:harmless")
            self.assertEqual([each["operation"] for each in kernels["barriers"]["limits"]], ["barrier"])

    def test_mistakes(self):
        for arguments, message in ((["-p", "atomic"], "atomic"), (["-m", "none"], "none"), (["-k", "["], "--kernels")):
            run = lynxpp("limits", *arguments, "--", PROGRAM)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(message, run.stderr)
        self.assertEqual(lynxpp("limits", "--from", "missing.jsonl").returncode, 1)
        run = lynxpp("limits", "/bin/true")
        self.assertEqual(run.returncode, 3)
        self.assertIn("no launch was timed", run.stderr)


class RecordWithMeasurements(unittest.TestCase):
    def test_measured_gains_replace_estimates(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            run = lynxpp("record", "-d", "cpu", "-k", "conflicts|strided", "--measure", "-o", output, "--", PROGRAM, 5)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("% (modelled): conflicts,", run.stderr)
            summary = json.loads(lynxpp("report", output, "--format", "json").stdout)
            findings = {each["rule"]: each for each in summary["findings"]["list"] if "mended" not in each["demangled"]}
            for rule in ("scattered bank conflicts", "uncoalesced access"):
                self.assertEqual(findings[rule]["basis"], "modelled", rule)
            self.assertIn("== lynxpp: findings ==", lynxpp("report", output, "--format", "summary").stdout)


if __name__ == "__main__":
    unittest.main()
