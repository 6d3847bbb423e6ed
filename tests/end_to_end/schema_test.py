"""What lynxpp writes against docs/schema/records.schema.json, and the checker against itself and python3-jsonschema.

usage: schema_test.py BUILD_FOLDER
"""
import copy
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import schema  # noqa: E402
from harness import Build  # noqa: E402

BUILD = Build(sys.argv.pop())
SCHEMA = schema.records()


class Records(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One record of every kind, of a real run."""
        with tempfile.TemporaryDirectory() as folder:
            output, bench = pathlib.Path(folder, "out.jsonl"), pathlib.Path(folder, "bench.json")
            program = BUILD.examples / "vecadd"
            cls.run_ = BUILD.run(program, spec="instruction_count,basic_block_count,kernel_runtime",
                                 environment={"LYNXPP_OUTPUT": str(output), "LYNXPP_TIMING": "1"})
            cls.lines = [json.loads(line) for line in output.read_text().splitlines()]
            BUILD.run(BUILD.command, "bench", "-d", "cpu", "-r", 1, "-s", "instruction_count", "-o", bench, "--", program, preload=False)
            summary = BUILD.run(BUILD.command, "report", output, "--format", "json", preload=False)
            cls.lines += [json.loads(bench.read_text()), json.loads(summary.stdout)]

    def kind(self, name):
        return copy.deepcopy(next(line for line in self.lines if line["record"] == name))

    def test_every_kind_is_written_and_valid(self):
        self.assertEqual({line["record"] for line in self.lines}, {"sites", "launch", "coverage", "timing", "bench", "summary"})
        for line in self.lines:
            self.assertEqual(SCHEMA.complaint(line), "")

    def test_what_is_wrong_is_found(self):
        def spoil(name, change):
            record = self.kind(name)
            change(record)
            return SCHEMA.complaint(record)
        self.assertIn("no member 'launch'", spoil("launch", lambda record: record.pop("launch")))
        self.assertIn("unknown member 'lunch'", spoil("launch", lambda record: record.update(lunch=1)))
        self.assertIn("record.grid: 2 elements", spoil("launch", lambda record: record["grid"].pop()))
        self.assertIn("is less than 0", spoil("coverage", lambda record: record.update(launches=-1)))
        self.assertIn("is not of type boolean", spoil("coverage", lambda record: record.update(instrumented=1)))
        self.assertIn("is not of type integer", spoil("sites", lambda record: record["blocks"]["first"].append(1.5)))
        self.assertIn("record.results", spoil("launch", lambda record: record["results"].update(n="12")))
        self.assertIn("'nonsense'", SCHEMA.complaint({"record": "nonsense"}))

    def test_a_keyword_that_is_not_checked_is_an_error(self):
        with self.assertRaises(ValueError):
            schema.Schema({"pattern": "x"}).complaint("y")

    def test_the_reference_implementation_agrees(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)
        validator = jsonschema.Draft202012Validator(SCHEMA.schema)
        for line in self.lines:
            self.assertTrue(validator.is_valid(line))
            line = copy.deepcopy(line)
            line["further"] = 1
            self.assertFalse(validator.is_valid(line))


if __name__ == "__main__":
    if not (BUILD.examples / "vecadd").exists():
        print("SKIP: the example programs were not built (no nvcc when the build was configured)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
