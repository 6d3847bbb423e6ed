"""The loop of docs/agents.md on its example: runs the commands and compares the outputs that the page quotes; and
the document that `lynxpp record --format json` prints, on other programs, against docs/schema/digest.schema.json.

Arguments: the build folder and nvcc.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from harness import Build, clean_environment  # noqa: E402
from schema import jsonschema  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
NVCC = sys.argv.pop()
BUILD = Build(sys.argv.pop())
PAGE = (ROOT / "docs" / "agents.md").read_text()
SCHEMA = json.loads((ROOT / "docs" / "schema" / "digest.schema.json").read_text())
MOST_BYTES = 20_000


def complaint(document):
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document))
    return f"{error.json_path}: {error.message:.200}" if error else ""


class Loop(unittest.TestCase):
    """The commands of the page, in the order in which it has them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in ("transpose.cu", "budgets.toml"):
            shutil.copy(ROOT / "examples" / "agents" / name, cls.folder.name)
        tools = f"{BUILD.command.parent}:{pathlib.Path(NVCC).parent}"
        cls.environment = {**clean_environment(), "PATH": f"{tools}:{clean_environment()['PATH']}"}
        blocks = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        cls.steps = []  # (command, quoted output)
        for block in blocks:
            for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, quoted = step.partition("\n")
                cls.steps.append((command, quoted))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_command(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.folder.name, env=self.environment, timeout=300,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def test_the_outputs_are_those_of_the_page(self):
        self.assertGreater(len(self.steps), 6)
        for command, quoted in self.steps:
            ended = self.run_command(command)
            text = ended.stdout + ended.stderr
            for line in quoted.splitlines():
                if line != "…":
                    self.assertIn(line.strip(), text, f"$ {command}\n{text}")
        first, second = (json.loads(pathlib.Path(self.folder.name, f"{name}.json").read_text()) for name in ("slow", "fast"))
        self.assertEqual(["bank-conflicts:transpose:ld.shared.f32:values"], [each["id"] for each in first["findings"]])
        self.assertEqual([], second["findings"])
        for document in (first, second):
            self.assertEqual("", complaint(document))
            self.assertEqual({"checks": "memory,race,init,sync", "has_run": True, "count": 0, "findings": []}, document["checks"])

    def test_the_page_is_short(self):
        self.assertLessEqual(len(PAGE.split()), 600)


class Document(unittest.TestCase):
    def record(self, program, *arguments, options=()):
        with tempfile.TemporaryDirectory() as folder:
            run = BUILD.run(BUILD.command, "record", "-d", "cpu", "--format", "json", *options, "-o",
                            pathlib.Path(folder, "out.jsonl"), "--", program, *arguments, preload=False)
        return run, json.loads(run.stdout)

    def test_documents_of_programs_are_valid_and_small(self):
        for name in ("vecadd", "spmv", "bfs", "histogram", "tests/finding_planted"):
            run, document = self.record(BUILD.examples / name)
            self.assertEqual("", complaint(document), name)
            self.assertLessEqual(len(run.stdout), MOST_BYTES, name)
            self.assertEqual(run.status, document["exit_code"], name)
            ids = [each["id"] for each in document["findings"]]
            self.assertEqual(len(ids), len(set(ids)), name)
            self.assertIsNone(document["checks"])
        self.assertGreater(document["left_out"]["lines"], 0)
        self.assertEqual({"planted.cu"}, {each["file"] for each in document["lines"]})
        self.assertTrue(document["sources"]["planted.cu"].endswith("/tests/end_to_end/findings/planted.cu"))

    def test_the_schema_rejects_other_documents(self):
        _, document = self.record(BUILD.examples / "tests/finding_planted")
        for change in (lambda each: each.pop("findings"), lambda each: each.update(further=1),
                       lambda each: each["findings"][0].pop("id"), lambda each: each["lines"][0].update(sectors=0.5)):
            spoiled = json.loads(json.dumps(document))
            change(spoiled)
            self.assertNotEqual("", complaint(spoiled))

    def test_findings_of_checks_are_part_of_it(self):
        program = BUILD.examples / "tests" / "check_race"
        _, document = self.record(program, "missing_barrier", options=("--checks", "race"))
        self.assertEqual("", complaint(document))
        self.assertTrue(document["checks"]["has_run"])
        self.assertEqual({"race"}, {each["kind"] for each in document["checks"]["findings"]})
        self.assertEqual(document["checks"]["count"], len(document["checks"]["findings"]))

    def test_a_program_without_kernels(self):
        run, document = self.record("true")
        self.assertEqual((3, 3), (run.status, document["exit_code"]))
        self.assertEqual("", complaint(document))
        self.assertEqual(0, document["coverage"]["kernels"])


if __name__ == "__main__":
    if jsonschema is None:
        print("SKIP: python3-jsonschema is not installed for this Python")
        sys.exit(77)
    if not (BUILD.examples / "tests" / "finding_planted").exists() or not pathlib.Path(NVCC).exists():
        print("SKIP: no program was built (no nvcc)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
