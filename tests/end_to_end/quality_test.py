"""`lynxpp quality` on the cpu device: criteria of kernels that are known in closed form, ranges, primitives, the schema.

usage: quality_test.py BUILD_FOLDER
"""
import json
import pathlib
import subprocess
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("SKIP: python3-jsonschema is not installed for this Python")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/schema/quality.schema.json").read_text())
BUILD = pathlib.Path(sys.argv.pop())
PROGRAM = BUILD / "examples/tests/quality"
PRIMITIVES = BUILD / "examples/primitives"
if not PROGRAM.exists() or not PRIMITIVES.exists():
    print("SKIP: the example programs were not built (no nvcc)")
    sys.exit(77)


def lynxpp(*arguments, **environment):
    return subprocess.run(
        [BUILD / "bin/lynxpp", *arguments],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **environment},
        timeout=300,
    )


def quality(*arguments, **environment):
    outcome = lynxpp("quality", "--json", "-d", "cpu", *arguments, **environment)
    assert outcome.returncode == 0, outcome.stderr
    result = json.loads(outcome.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(result)
    return result


def subjects_of(result, kind="range"):
    return {subject["name"]: subject for subject in result["subjects"] if subject["kind"] == kind}


def inputs_of(subject):
    return {each["name"]: each["value"].replace(",", "") for each in subject["inputs"]}


class ClosedForms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = quality("--", PROGRAM)
        cls.ranges = subjects_of(cls.result)
        cls.kernels = {name.split("(")[0]: each for name, each in subjects_of(cls.result, "kernel").items()}

    def criteria(self, name):
        return self.ranges[name]["criteria"]

    def test_ranges_are_those_of_the_program(self):
        names = ["divergence", "hierarchy", "barrier", "copied", "overlapped", "overlapped/inner"]
        self.assertEqual(list(self.ranges), names)
        self.assertEqual(self.result["times"], "modelled")

    def test_one_lane_of_32_is_a_32nd(self):
        self.assertGreater(self.criteria("divergence")["WE"], 1 / 32)
        self.assertLess(self.criteria("divergence")["WE"], 2.5 / 32)
        self.assertEqual(self.criteria("hierarchy")["WE"], 1)

    def test_three_of_four_accesses_are_near(self):
        self.assertEqual(self.criteria("hierarchy")["MH"], 0.75)
        self.assertEqual(self.criteria("divergence")["MH"], 0)

    def test_seven_of_eight_warps_wait(self):
        self.assertAlmostEqual(self.kernels["waiting"]["criteria"]["SO"], 1 / 8, delta=0.002)
        self.assertAlmostEqual(self.criteria("barrier")["SO"], 1 - 0.5 * 7 / 8, delta=0.001)
        self.assertEqual(self.criteria("hierarchy")["SO"], 1)
        improve = {each["criterion"]: each["site"] for each in self.ranges["barrier"]["improve"]}
        self.assertRegex(improve["SO"], r"^bar\S* at .* of waiting")

    def test_one_block_is_on_one_multiprocessor(self):
        inputs = inputs_of(self.ranges["barrier"])
        share = 8 / 64 / int(inputs["#SM"])
        self.assertEqual(self.criteria("barrier")["OC"], share)
        self.assertAlmostEqual(self.criteria("barrier")["LB"], share, places=9)

    def test_copies_count_unless_they_overlap(self):
        self.assertEqual(self.criteria("copied")["DT"], 0.5)
        self.assertEqual(self.criteria("overlapped")["DT"], 1)
        self.assertEqual(self.criteria("overlapped/inner")["DT"], 1)
        self.assertEqual(self.criteria("divergence")["DT"], 1)
        self.assertIsNone(self.kernels["waiting"]["criteria"]["DT"])
        inputs = inputs_of(self.ranges["overlapped"])
        self.assertEqual(inputs["cuda_copy_size"], inputs["overlapping copies"])
        self.assertEqual(inputs["problem_size"], str(64 * 256 * 4))

    def test_rates_are_over_the_modelled_time(self):
        subject = self.ranges["hierarchy"]
        inputs = inputs_of(subject)
        multiprocessors = int(inputs["#SM"])
        seconds = subject["kernel_seconds"]
        self.assertEqual(inputs["DRAM bytes"], str(64 * 256 * 4))
        bandwidth = 3.35e12 / 132 * multiprocessors
        self.assertAlmostEqual(subject["criteria"]["MC"], 64 * 256 * 4 / (seconds * bandwidth), places=9)
        busy = int(inputs["Int_instr"]) / 64 / (1.98e9 * multiprocessors)
        self.assertAlmostEqual(subject["criteria"]["IO"], 1 - busy / seconds, places=9)

    def test_gaps_are_what_the_quality_lacks(self):
        for subject in self.result["subjects"]:
            self.assertAlmostEqual(sum(each["gap"] for each in subject["improve"]), 1 - subject["quality"], places=9)

    def test_a_size_of_the_problem_may_be_given(self):
        ranges = subjects_of(quality("--problem-bytes", str(3 * 64 * 256 * 4), "--", PROGRAM))
        self.assertEqual(ranges["copied"]["criteria"]["DT"], 0.75)


class Ranges(unittest.TestCase):
    def test_functions_and_the_variable_are_ranges_too(self):
        names = subjects_of(quality("--function", "main", "--", PROGRAM, LYNXPP_RANGE="all of it"))
        self.assertIn("main()/all of it/overlapped/inner", names)

    def test_one_range_and_what_is_in_it(self):
        result = quality("--range", "overlapped", "--", PROGRAM)
        self.assertEqual(list(subjects_of(result)), ["overlapped", "overlapped/inner"])
        self.assertEqual(len(result["subjects"]), 2)

    def test_a_range_that_is_not_entered_is_named(self):
        outcome = lynxpp("quality", "--range", "divergenze", "-d", "cpu", "--", PROGRAM)
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("no kernel was launched in a range 'divergenze'", outcome.stderr)
        self.assertIn("did you mean 'divergence'?", outcome.stderr)

    def test_they_are_in_records_and_the_table(self):
        outcome = lynxpp("run", "-s", "instruction_count", "-d", "cpu", "-o", "/dev/stdout", "--", PROGRAM)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        records = [json.loads(line) for line in outcome.stdout.splitlines() if line.startswith('{"record":"launch"')]
        self.assertIn(["overlapped", "inner"], [record.get("ranges") for record in records])
        self.assertIn("overlapped/inner", outcome.stderr)

    def test_a_program_without_kernels_is_said_to_be_one(self):
        outcome = lynxpp("quality", "--", "/bin/true")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("the program launched no kernel", outcome.stderr)


class Primitives(unittest.TestCase):
    def test_reductions_and_scans_by_every_implementation(self):
        names = ["reduction", "inclusive_scan"]
        ranges = subjects_of(quality("--", PRIMITIVES, "20000", *names))
        for name in names:
            own = {path: each for path, each in ranges.items() if path.count("/") == 1 and path.startswith(name)}
            self.assertEqual(len(own), 4, list(ranges))
            for path, each in own.items():
                # As in the paper's Figure 2.
                self.assertGreater(each["criteria"]["WE"], 0.8, path)
                for symbol, value in each["criteria"].items():
                    self.assertIsNotNone(value, f"{path} {symbol}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
