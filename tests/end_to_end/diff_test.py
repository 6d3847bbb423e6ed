"""`lynxpp report diff` of a program at two sizes: compares every value with the records and the device's own
counters.

usage: diff_test.py BUILD_FOLDER
"""
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import schema  # noqa: E402
from harness import Build, read_json_lines  # noqa: E402

BUILD = Build(sys.argv.pop())
PROGRAM = BUILD.examples / "vecadd"
SIZES = {"a": 1000, "b": 4000}


def summed(columns):
    return [sum(column) for column in zip(*columns)]


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = {side: pathlib.Path(cls.folder.name, f"{side}.jsonl") for side in SIZES}
        for side, file in cls.files.items():
            run = BUILD.run(PROGRAM, SIZES[side], spec="instruction_count,memory_efficiency,branch_divergence",
                            environment={"LYNXPP_OUTPUT": str(file)})
            if run.status != 0:
                raise AssertionError(str(run))
        cls.records = {side: [record for record in read_json_lines(file) if record["record"] == "launch"]
                       for side, file in cls.files.items()}
        cls.diff = json.loads(cls.lynxpp_diff("--json"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def lynxpp_diff(cls, *options):
        run = BUILD.run(BUILD.command, "report", "diff", cls.files["a"], cls.files["b"], *options, preload=False)
        if run.status != 0 or run.stderr:
            raise AssertionError(str(run))
        return run.stdout.decode()

    def test_it_follows_the_schema(self):
        if schema.jsonschema is None:
            self.skipTest("python3-jsonschema is not installed")
        self.assertEqual(schema.complaint(self.diff), "")
        self.diff["specifications"][0]["kernels"][0]["results"][0].pop("ratio")
        self.assertIn("'ratio' is a required property", schema.complaint(self.diff))
        type(self).diff = json.loads(self.lynxpp_diff("--json"))

    def kernel(self, spec):
        change = next(each for each in self.diff["specifications"] if each["spec"] == spec)
        self.assertEqual(len(change["kernels"]), 1)
        return change["kernels"][0]

    def results(self, side, spec, name):
        return [record["results"][name] for record in self.records[side] if record["spec"] == spec]

    def test_results_equal_the_device(self):
        result = next(each for each in self.kernel("instruction_count")["results"] if each["name"] == "thread_instructions")
        for side, size in SIZES.items():
            _, launches = BUILD.count(PROGRAM, size)
            self.assertEqual(result[side]["value"], sum(launch["thread_instructions"] for launch in launches))
        self.assertEqual(result["difference"], result["b"]["value"] - result["a"]["value"])
        self.assertEqual(result["ratio"], result["b"]["value"] / result["a"]["value"])

    def test_ratios_are_sums_over_sums(self):
        result = next(each for each in self.kernel("branch_divergence")["results"] if each["name"] == "divergence_ratio")
        for side in SIZES:
            parts = self.results(side, "branch_divergence", "divergence_ratio")
            sums = [sum(part[name] for part in parts) for name in ("numerator", "denominator")]
            self.assertEqual([result[side]["numerator"], result[side]["denominator"]], sums)
            self.assertEqual(result[side]["value"], sums[0] / sums[1])

    def test_sites_equal_the_records(self):
        array = next(each for each in self.kernel("memory_efficiency")["arrays"] if each["name"] == "sectors")
        self.assertTrue(array["same_code"])
        a, b = (summed(launch["values"] for launch in self.results(side, "memory_efficiency", "sectors")) for side in SIZES)
        changed = {place for place in range(len(a)) if a[place] != b[place]}
        self.assertGreater(len(changed), 1)
        self.assertEqual({row["id"]: (row["a"]["value"], row["b"]["value"], row["difference"]) for row in array["elements"]},
                         {place: (a[place], b[place], b[place] - a[place]) for place in changed})
        self.assertEqual(array["unchanged"], len(a) - len(changed))
        self.assertEqual(array["further_elements"], 0)

    def test_the_text_says_the_same(self):
        text = self.lynxpp_diff("--top", "1")
        first = self.kernel("instruction_count")["results"][0]
        self.assertRegex(text, rf"\n  {first['name']} +{first['a']['value']:,} +{first['b']['value']:,} "
                               rf"+{first['ratio']:.3f} +\+{first['difference']:,} ")


if __name__ == "__main__":
    if not PROGRAM.exists():
        print("SKIP: the example programs were not built (no nvcc when the build was configured)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
