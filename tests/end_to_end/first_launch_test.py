"""First launches: texts of variants are equal in every run, so that caches have them, and with
LYNXPP_FIRST_LAUNCH=native the program goes on with original kernels.

Argument: the build folder.
"""
import pathlib
import re
import sys
import tempfile
import unittest

from harness import Build, Records, read_json_lines

BUILD = None


class FirstLaunch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, name, *options, environment=None):
        """Returns the run, its records, and the texts of all variants."""
        output, texts = self.folder / "out.jsonl", self.folder / "ptx"
        for file in texts.glob("*"):
            file.unlink()
        run = BUILD.run(BUILD.command, "run", "-d", "cpu", "-s", "memory_efficiency", "-o", output, "--dump", texts, *options, "--",
                        BUILD.examples / name, preload=False,
                        environment={"LYNXPP_LOG": "debug", "LYNXPP_CPU_CACHE": str(self.folder / "cache"), **(environment or {})})
        self.assertEqual(run.status, 0, run)
        variants = sorted(file.read_text() for file in texts.glob("*") if "__lynxpp_" in file.read_text())
        self.assertTrue(variants, run)
        return run, read_json_lines(output), variants

    def test_a_second_run_has_the_same_texts_and_compiles_nothing(self):
        for setting in ({}, {"LYNXPP_FIRST_LAUNCH": "alone"}):
            _, records, first = self.run_program("symbols", environment=setting)
            run, again, second = self.run_program("symbols", environment=setting)
            self.assertTrue(any(".const .align 8 .b64 __lynxpp_variables[" in text for text in first), first)
            self.assertEqual(first, second)
            values = [[each["results"] for each in Records(found).launches] for found in (records, again)]
            self.assertEqual(values[0], values[1])
            known, cached = re.findall(r"(\d+) forms are known, (\d+) of them cached by earlier", run.stderr)[-1]
            self.assertEqual(known, cached, run)

    def test_the_table_is_no_array_of_the_program(self):
        output = self.folder / "out.jsonl"
        run = BUILD.run(BUILD.command, "run", "-d", "cpu", "-s", "device_memory_profile", "-o", output, "--", BUILD.examples / "symbols",
                        preload=False)
        self.assertEqual(run.status, 0, run)
        self.assertNotIn("__lynxpp_variables", output.read_text() + run.stderr)

    def test_native_first_launches_are_not_counted_and_said_to_be_so(self):
        expected = BUILD.run(BUILD.examples / "streams")
        run, records, _ = self.run_program_natively("streams")
        self.assertEqual(run.stdout, expected.stdout, run)
        coverage = [each for each in records if each["record"] == "coverage"]
        self.assertTrue(coverage, run)
        for each in coverage:
            missed = sum(int(number) for note in each["notes"]
                         for number in re.findall(r"^(\d+) launch(?:es)? made while the variant was being compiled", note))
            self.assertGreaterEqual(missed, 1, each)
            self.assertEqual(each["launches"], each["instrumented_launches"] + missed, each)
            if not each["instrumented"]:
                self.assertIn("LYNXPP_FIRST_LAUNCH=native", each["reason"])

    def run_program_natively(self, name):
        output = self.folder / "out.jsonl"
        run = BUILD.run(BUILD.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--first-launch", "native", "--",
                        BUILD.examples / name, preload=False)
        self.assertIn(run.status, (0, 3), run)
        return run, read_json_lines(output), None

    def test_an_unknown_value_is_an_error(self):
        run = BUILD.run(BUILD.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_FIRST_LAUNCH": "fast"})
        self.assertIn("LYNXPP_FIRST_LAUNCH: unknown value 'fast'", run.stderr)
        self.assertIn("the program runs uninstrumented", run.stderr)


if __name__ == "__main__":
    BUILD = Build(sys.argv.pop(1))
    unittest.main()
