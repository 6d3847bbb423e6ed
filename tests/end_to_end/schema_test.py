"""Checks lynxpp's output against docs/schema/records.schema.json.

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
from harness import Build, lynxpp  # noqa: E402

BUILD = Build(sys.argv.pop())


class Records(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Returns a record of every kind from a real run."""
        with tempfile.TemporaryDirectory() as folder:
            output, bench = pathlib.Path(folder, "out.jsonl"), pathlib.Path(folder, "bench.json")
            program = BUILD.examples / "vecadd"
            cls.run_ = BUILD.run(program, spec="instruction_count,basic_block_count,kernel_runtime",
                                 environment={"LYNXPP_OUTPUT": str(output), "LYNXPP_TIMING": "1", "LYNXPP_TIMELINE": "1"})
            cls.lines = [json.loads(line) for line in output.read_text().splitlines()]
            BUILD.run(BUILD.command, "bench", "-d", "cpu", "-r", 1, "-s", "instruction_count", "-o", bench, "--", program, preload=False)
            elapsed = pathlib.Path(folder, "elapsed.json")
            BUILD.run(BUILD.command, "bench", "--elapsed", "-d", "cpu", "-r", 1, "-s", "instruction_count", "-o", elapsed, "--", program, preload=False)
            summary = BUILD.run(BUILD.command, "report", output, "--format", "json", preload=False)
            cls.lines += [json.loads(bench.read_text()), json.loads(elapsed.read_text()), json.loads(summary.stdout)]

    def kind(self, name):
        return copy.deepcopy(next(line for line in self.lines if line["record"] == name))

    def test_the_schema_is_valid(self):
        schema.jsonschema.Draft202012Validator.check_schema(schema.SCHEMA)

    def test_every_kind_is_written_and_valid(self):
        self.assertEqual({line["record"] for line in self.lines}, {"process", "sites", "series", "launch", "coverage", "timing", "device", "activity", "bench", "elapsed", "summary"})
        every_kind = schema.jsonschema.Draft202012Validator(schema.SCHEMA)
        for line in self.lines:
            self.assertEqual(schema.complaint(line), "")
            every_kind.validate(line)
            self.assertFalse(every_kind.is_valid({**line, "further": 1}))

    def test_errors_are_detected(self):
        def spoil(name, change):
            record = self.kind(name)
            change(record)
            return schema.complaint(record)
        self.assertIn("'launch' is a required property", spoil("launch", lambda record: record.pop("launch")))
        self.assertIn("'lunch' was unexpected", spoil("launch", lambda record: record.update(lunch=1)))
        self.assertRegex(spoil("series", lambda record: record["grid"].pop()), r"^record.grid: \[.*\] is too short")
        self.assertIn("'spec' is a required property", spoil("series", lambda record: record.pop("spec")))
        self.assertIn("record.columns[0]", spoil("series", lambda record: record["columns"][0].update(unit=1)))
        self.assertIn("record.launches: -1 is less than the minimum of 0", spoil("coverage", lambda record: record.update(launches=-1)))
        self.assertIn("1 is not of type 'boolean'", spoil("coverage", lambda record: record.update(instrumented=1)))
        self.assertIn("1.5 is not of type 'integer'", spoil("sites", lambda record: record["blocks"]["first"].append(1.5)))
        self.assertIn("record.values[0]", spoil("launch", lambda record: record["values"].insert(0, "12")))
        self.assertNotEqual(schema.complaint({"record": "nonsense"}), "")

    def test_complete_launches_of_earlier_versions_are_valid(self):
        launches = [record for record in lynxpp.completed(self.lines) if record["record"] == "launch"]
        self.assertEqual([schema.complaint(record) for record in launches], [""] * len(launches))
        launches[0]["results"]["n"] = "12"
        self.assertIn("record.results", schema.complaint(launches[0]))


if __name__ == "__main__":
    if schema.jsonschema is None:
        print("SKIP: python3-jsonschema is not installed for this Python")
        sys.exit(77)
    if not (BUILD.examples / "vecadd").exists():
        print("SKIP: the example programs were not built (no nvcc when the build was configured)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
