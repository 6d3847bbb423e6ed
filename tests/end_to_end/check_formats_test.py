"""The formats of `lynxpp check-run -o`: SARIF 2.1.0 with what its schema requires, and text.

Argument: the build folder. The program is a kernel of this test with the driver API, so no CUDA toolkit is needed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import schema
from harness import Build, clean_environment

FORKS = pathlib.Path(__file__).resolve().parent / "forks"
SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/schema/check.schema.json").read_text())
BUILD = Build(sys.argv.pop())
SOURCE = """// A kernel.
void put(int* to) { *to = 1; }
void work(int* out) {
  put(out + threadIdx.x);
  put(out + threadIdx.x + 1);
}
"""
# Two stores: `put`, inlined at two lines of `work`.
PTX = """.version 7.2
.target sm_75
.address_size 64
.visible .entry work(.param .u64 out)
{{
	.reg .b32 %r<2>;
	.reg .b64 %rd<4>;
	.loc 1 {work} 1
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd2, %rd1, %rd3;
	.loc 1 {put} 1, function_name $L__info_string0, inlined_at 1 {first} 1
	st.global.u32 [%rd2], %r1;
	.loc 1 {put} 1, function_name $L__info_string0, inlined_at 1 {second} 1
	st.global.u32 [%rd2+4], %r1;
	.loc 1 {second} 1
	ret;
}}
	.file 1 "{file}"
	.section .debug_str
	{{
$L__info_string0:
.b8 95,90,51,112,117,116,80,105,0
	}}
"""

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}, "additionalProperties": False}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
ARTIFACT = {"type": "object", "required": ["uri"], "additionalProperties": False,
            "properties": {"uri": {"type": "string", "pattern": r"^[!-~]+$"}, "uriBaseId": {"const": "%SRCROOT%"}}}
LOCATION = {
    "type": "object", "required": ["physicalLocation"], "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": 0}, "message": TEXT,
        "physicalLocation": {
            "type": "object", "required": ["artifactLocation"], "additionalProperties": False,
            "properties": {"artifactLocation": ARTIFACT,
                           "region": {"type": "object", "required": ["startLine"], "additionalProperties": False,
                                      "properties": {"startLine": {"type": "integer", "minimum": 1}}}}},
        "logicalLocations": {"type": "array", "items": {
            "type": "object", "required": ["name", "decoratedName", "kind"], "additionalProperties": False,
            "properties": {"name": {"type": "string"}, "decoratedName": {"type": "string"}, "kind": {"const": "function"}}}}}}
STACK = {"type": "object", "required": ["frames"], "additionalProperties": False, "properties": {
    "message": TEXT, "frames": {"type": "array", "minItems": 1, "items": {
        "type": "object", "required": ["location"], "additionalProperties": False, "properties": {"location": LOCATION}}}}}
RESULT = {
    "type": "object", "required": ["ruleId", "level", "message", "locations", "partialFingerprints", "properties"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"}, "level": LEVEL, "message": TEXT, "occurrenceCount": {"type": "integer", "minimum": 1},
        "locations": {"type": "array", "minItems": 1, "items": LOCATION},
        "relatedLocations": {"type": "array", "items": LOCATION}, "stacks": {"type": "array", "items": STACK, "uniqueItems": True},
        "partialFingerprints": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string", "minLength": 1}},
        "properties": {"type": "object"}}}
RULE = {
    "type": "object", "required": ["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"],
    "additionalProperties": False,
    "properties": {"id": {"type": "string", "pattern": "^[a-z-]+$"}, "shortDescription": TEXT, "fullDescription": TEXT, "help": TEXT,
                   "defaultConfiguration": {"type": "object", "required": ["level"], "properties": {"level": LEVEL}},
                   "properties": {"type": "object"}}}
INVOCATION = {
    "type": "object", "required": ["executionSuccessful"], "additionalProperties": False,
    "properties": {"executionSuccessful": {"type": "boolean"}, "exitCode": {"type": "integer"},
                   "toolExecutionNotifications": {"type": "array", "items": {
                       "type": "object", "required": ["message"], "additionalProperties": False,
                       "properties": {"level": LEVEL, "message": TEXT}}}}}
# The part of SARIF 2.1.0 that lynxpp uses: what its schema requires, and no other members.
LOG = {
    "type": "object", "required": ["version", "runs"], "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"}, "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "maxItems": 1, "items": {
            "type": "object", "required": ["tool", "results", "invocations"], "additionalProperties": False,
            "properties": {
                "tool": {"type": "object", "required": ["driver"], "additionalProperties": False, "properties": {"driver": {
                    "type": "object", "required": ["name", "version", "rules"], "additionalProperties": False,
                    "properties": {"name": {"const": "lynxpp"}, "version": {"type": "string"},
                                   "rules": {"type": "array", "items": RULE}}}}},
                "invocations": {"type": "array", "items": INVOCATION},
                "originalUriBaseIds": {"type": "object"},
                "results": {"type": "array", "items": RESULT}}}}}}


class Formats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a folder ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, source=SOURCE, file="kernels/a file.cu"):
        """Writes the source and the kernel with its lines."""
        lines = source.splitlines()
        numbers = {name: next(i for i, line in enumerate(lines, 1) if text in line)
                   for name, text in (("put", "void put"), ("work", "void work"), ("first", "put(out + threadIdx.x);"), ("second", "+ 1);"))}
        path = self.folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        (self.folder / "work.ptx").write_text(PTX.format(file=file, **numbers))
        return numbers

    def check(self, output, *options, how="outside"):
        program = [sys.executable, "-B", FORKS / "driver_program.py", how, self.folder / "work.ptx"]
        command = [BUILD.command, "check-run", "-o", output, *options, "--", *program]
        return subprocess.run(list(map(str, command)), cwd=self.folder, env=clean_environment(), capture_output=True, timeout=120, text=True)

    def sarif(self, **options):
        output = self.folder / "out.sarif"
        ended = self.check(output, "--format", "sarif", "--checks", "memory", **options)
        log = json.loads(output.read_text())
        if schema.jsonschema is not None:
            schema.jsonschema.Draft202012Validator(LOG).validate(log)
        run, = log["runs"]
        rules = {each["id"] for each in run["tool"]["driver"]["rules"]}
        self.assertEqual(rules & {each["ruleId"] for each in run["results"]}, {each["ruleId"] for each in run["results"]})
        return ended, run

    def fingerprints(self):
        _, run = self.sarif()
        return [value for each in run["results"] for value in each["partialFingerprints"].values()]

    def test_results_have_lines_and_stacks(self):
        lines = self.write()
        ended, run = self.sarif()
        self.assertEqual(ended.returncode, 0, ended.stderr)
        # Both stores are in line `put`, so they are one finding.
        result, = run["results"]
        self.assertEqual((result["ruleId"], result["level"], result["properties"]["class"]), ("out-of-bounds", "error", "error"))
        self.assertEqual(result["occurrenceCount"], 128)
        self.assertIn("error: " + result["message"]["text"].removeprefix("error: ") + "\n", ended.stderr)
        self.assertIn("\n    at put(int*) (kernels/a file.cu:2)\n    called from work (kernels/a file.cu:4)\n", ended.stderr)
        place, = result["locations"]
        self.assertEqual(place["physicalLocation"], {"artifactLocation": {"uri": "kernels/a%20file.cu", "uriBaseId": "%SRCROOT%"},
                                                     "region": {"startLine": lines["put"]}})
        stack, = result["stacks"]
        self.assertEqual([(each["location"]["logicalLocations"][0]["name"],
                           each["location"]["physicalLocation"]["region"]["startLine"]) for each in stack["frames"]],
                         [("put(int*)", lines["put"]), ("work", lines["first"])])
        root = run["originalUriBaseIds"]["%SRCROOT%"]["uri"]
        self.assertEqual(root, self.folder.resolve().as_uri() + "/")
        self.assertEqual(run["invocations"], [{"executionSuccessful": True, "exitCode": 0}])

    def test_one_stack_if_both_accesses_are_one_instruction(self):
        program, output = BUILD.examples / "tests" / "check_race", self.folder / "race.sarif"
        if not program.exists():
            self.skipTest(f"{program} is not built")
        BUILD.run(BUILD.command, "check-run", "--format", "sarif", "-o", output, "--", program, "both_write", preload=False)
        log = json.loads(output.read_text())
        if schema.jsonschema is not None:
            schema.jsonschema.Draft202012Validator(LOG).validate(log)
        self.assertEqual([len(each["stacks"]) for each in log["runs"][0]["results"]], [1])

    def test_rules_are_the_kinds_of_findings(self):
        self.write()
        _, run = self.sarif()
        kinds = [*SCHEMA["$defs"]["finding"]["properties"]["kind"]["enum"], "leak"]
        self.assertEqual([each["id"] for each in run["tool"]["driver"]["rules"]], [each.replace(" ", "-") for each in kinds])
        classes = {each["properties"]["class"] for each in run["tool"]["driver"]["rules"]}
        self.assertEqual(classes, {*SCHEMA["$defs"]["finding"]["properties"]["class"]["enum"], "warning"})

    def test_fingerprints_follow_the_text_of_the_line(self):
        self.write()
        first = self.fingerprints()
        self.assertEqual(self.fingerprints(), first)
        self.write("// One more line.\n" + SOURCE)
        self.assertEqual(self.fingerprints(), first)
        self.write(SOURCE.replace("*to = 1", "*to = 2"))
        self.assertNotEqual(self.fingerprints(), first)

    def test_sources_outside_of_the_working_directory(self):
        with tempfile.TemporaryDirectory() as other:
            self.write(file=f"{other}/b.cu")
            _, run = self.sarif()
        place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        self.assertEqual(place, {"uri": pathlib.Path(other, "b.cu").resolve().as_uri()})

    def test_findings_without_a_source_line(self):
        (self.folder / "work.ptx").write_text((FORKS / "work.ptx").read_text())
        _, run = self.sarif()
        place = run["results"][0]["locations"][0]["physicalLocation"]
        self.assertEqual(place, {"artifactLocation": {"uri": pathlib.Path(sys.executable).resolve().as_uri()}})
        self.assertIn("Compile with -lineinfo", run["results"][0]["message"]["text"])

    def test_leaks_are_warnings(self):
        self.write()
        output = self.folder / "out.sarif"
        self.check(output, "--format", "sarif", "--checks", "leak", "--error-exit", "7")
        results = json.loads(output.read_text())["runs"][0]["results"]
        self.assertEqual([(each["ruleId"], each["level"], each["properties"]["class"]) for each in results], [("leak", "warning", "warning")])
        self.assertIn("warning: leak of 256 bytes of device memory in 1 allocation", results[0]["message"]["text"])
        ended = self.check(output, "--format", "sarif", "--checks", "leak", "--error-exit", "7")
        self.assertEqual(ended.returncode, 7)
        self.assertIn("== lynxpp check: 1 warning in 0 launches ==\nwarning: leak of 256 bytes", ended.stderr)

    def test_a_program_that_launches_nothing(self):
        output = self.folder / "out.sarif"
        ended = subprocess.run([BUILD.command, "check-run", "-o", output, "-f", "sarif", "--", "true"], env=clean_environment(),
                               capture_output=True, timeout=120)
        self.assertEqual(ended.returncode, 3)
        run, = json.loads(output.read_text())["runs"]
        self.assertEqual(run["results"], [])
        self.assertFalse(run["invocations"][0]["executionSuccessful"])

    def test_text_is_what_is_printed(self):
        self.write()
        output = self.folder / "out.txt"
        ended = self.check(output, "--format", "text", "--checks", "memory", how="outside_exit")
        self.assertEqual(output.read_text(), ended.stderr[ended.stderr.index("== lynxpp check: 1 error in 1 launch =="):])

    def test_sarif_needs_a_file(self):
        ended = subprocess.run([BUILD.command, "check-run", "--format", "sarif", "--", "true"], capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("--format sarif needs a file", ended.stderr)


if __name__ == "__main__":
    unittest.main()
