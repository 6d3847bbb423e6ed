"""The GitHub Action on the example programs, run by runner.py, with the tarball that scripts/release wrote.

Arguments: the build folder and the folder of the packages.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
try:
    from runner import Runner
except ImportError:
    print("SKIP: python3-yaml is not installed")
    sys.exit(77)

PACKAGES = pathlib.Path(sys.argv.pop()).resolve()
BUILD = pathlib.Path(sys.argv.pop()).resolve()
VECADD = BUILD / "examples" / "vecadd"
KEPT = '[[budget]]\nkernel = "vecadd"\nmetric = "instruction_count.thread_instructions"\nat_most = {}\n'
UPLOAD = "github/codeql-action/upload-sarif"


def only_tarball():
    found, = PACKAGES.glob("lynxpp-*-linux-x86_64.tar.zst")
    return found


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a folder ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.sarif = self.folder / "out.sarif"

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def results(self):
        run, = json.loads(self.sarif.read_text())["runs"]
        rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        for result in run["results"]:
            self.assertIn(result["ruleId"], rules)
        return run["results"]


class Action(WithFolder):
    def run_action(self, **inputs):
        values = {"package": only_tarball(), "sarif": self.sarif, **inputs}
        return Runner(ROOT / "action", ROOT, self.folder).run(**values)

    def test_a_correct_program_within_its_budget(self):
        result = self.run_action(command=f"{VECADD} 1000", budgets=self.write("budgets.toml", KEPT.format(87082)),
                                 sha256=hashlib.sha256(only_tarball().read_bytes()).hexdigest())
        self.assertEqual(0, result.status, result.text)
        self.assertEqual({"findings": "0", "exceeded": "0"}, result.outputs)
        self.assertEqual({}, result.used)
        self.assertEqual([], self.results())
        self.assertNotIn("::error", result.text)
        self.assertIn("| instruction_count.thread_instructions | 87,082 | ≤ 87,082 | kept |", result.summary)
        self.assertIn(" ", str(self.folder), "the package is unpacked below a folder with a blank in its name")

    def test_a_race_is_uploaded_with_its_line(self):
        source = ROOT / "tests" / "end_to_end" / "checks" / "race.cu"
        lines = [number for number, line in enumerate(source.read_text().splitlines(), 1)
                 if "missing_barrier: race" in line]
        program = BUILD / "examples" / "tests" / "check_race"
        result = self.run_action(command=f"{program} missing_barrier", upload="true")
        self.assertEqual(1, result.status, result.text)
        self.assertEqual({UPLOAD: {"sarif_file": str(self.sarif), "category": "lynxpp"}}, result.used)
        races = [each for each in self.results() if each["ruleId"] == "race"]
        places = [each["locations"][0]["physicalLocation"] for each in races]
        name = source.relative_to(ROOT).as_posix()
        self.assertEqual({(name, line) for line in lines},
                         {(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places})
        self.assertEqual({"%SRCROOT%"}, {place["artifactLocation"]["uriBaseId"] for place in places})
        self.assertTrue(all(each["level"] == "error" and each["relatedLocations"] for each in races), races)
        self.assertEqual(str(len(self.results())), result.outputs["findings"])
        for line in lines:
            self.assertIn(f"::error file={name},line={line},title=lynxpp::hazard: race in kernel missing_barrier(int*)",
                          result.text)

    def test_a_package_that_is_not_the_expected_one(self):
        for inputs, message in (({"sha256": "0" * 64}, "the SHA-256 of"),
                                ({"package": self.folder / "none.tar.zst"}, "there is no package")):
            result = self.run_action(command="true", **inputs)
            self.assertEqual(1, result.status, result.text)
            self.assertIn(f"::error title=lynxpp::{message}", result.text)
            self.assertFalse(self.sarif.exists())


class Check(WithFolder):
    """action/check.py with the build's lynxpp."""

    def check(self, command, **inputs):
        variables = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}",
                     "GITHUB_WORKSPACE": str(self.folder), "COMMAND": command, "CHECKS": "memory", "BUDGETS": "",
                     "SPECIFICATIONS": "instruction_count", "SARIF": str(self.sarif), **inputs}
        return subprocess.run([sys.executable, "-B", ROOT / "action" / "check.py"], cwd=self.folder, env=variables,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_budgets_that_are_not_kept(self):
        wrong = [("vecadd", "instruction_count.thread_instructions", 87081, "instruction_count.thread_instructions of "
                  "vecadd(float const*, float const*, float*, int) is 87,082 in 5 launches: more than 87,081"),
                 ("^vecadd", "instruction_count.wavefronts", 1, "instruction_count.wavefronts of ^vecadd: no result "
                  "'wavefronts'; instruction_count has atomics, "),
                 ("matmul", "instruction_count.atomics", 1, "instruction_count.atomics of matmul: no kernel matches")]
        text = KEPT.format(87082)
        for kernel, metric, limit, _ in wrong:
            text += f'[[budget]]\nkernel = "{kernel}"\nmetric = "{metric}"\nat_most = {limit}\n'
        self.write("budgets.toml", text)
        ended = self.check(f"{VECADD} 1000", CHECKS="", BUDGETS="budgets.toml")
        self.assertEqual(1, ended.returncode, ended.stdout)
        errors = re.findall("^::error (.*)$", ended.stdout, re.MULTILINE)
        self.assertEqual(len(wrong), len(errors), errors)
        for number, (*_, message) in enumerate(wrong):
            expected = f"file=budgets.toml,line={5 + 4 * number},title=lynxpp::{message}"
            self.assertEqual(expected, errors[number][:len(expected)])

    def test_commands_that_fail_or_launch_nothing(self):
        self.write("budgets.toml", KEPT.format(1e9))
        for command, message in ((f"{VECADD} 1000; exit 2", "the command failed with exit status 2"),
                                 ("true", "the command launched no kernel")):
            for inputs in ({}, {"CHECKS": "", "BUDGETS": "budgets.toml"}):
                ended = self.check(command, **inputs)
                self.assertEqual(1, ended.returncode, ended.stdout)
                self.assertIn(f"::error title=lynxpp::{message}", ended.stdout)

    def test_inputs_that_are_invalid(self):
        valid = KEPT.format(1)
        for text, message in (("[[budget]]\nkernel = 'a'\nlimit = 1\n", "budgets.toml:3:1: error: unknown key 'limit'"),
                              (valid + KEPT.format("true"), "budgets.toml:8:11: error: at_most is not a number"),
                              ("", "the file has no budget")):
            self.write("budgets.toml", text)
            ended = self.check("false", BUDGETS="budgets.toml")
            self.assertEqual(2, ended.returncode, ended.stdout)
            self.assertIn(message, ended.stdout)
        self.write("budgets.toml", valid)
        for inputs, message in (({"BUDGETS": "none.toml"}, "none.toml"),
                                ({"CHECKS": "luck"}, "rejects the checks 'luck'"),
                                ({"CHECKS": "", "BUDGETS": "budgets.toml", "SPECIFICATIONS": "none"},
                                 "rejects the specifications 'none'")):
            ended = self.check(f"{VECADD} 1000", **inputs)
            self.assertEqual(2, ended.returncode, ended.stdout)
            self.assertIn(message, ended.stdout)


class Texts(unittest.TestCase):
    def test_the_document_names_every_input(self):
        text = (ROOT / "action" / "README.md").read_text()
        action = Runner(ROOT / "action", ROOT, ROOT).action
        self.assertEqual(list(action["inputs"]), re.findall(r"^\| `(\w+)`", text, re.MULTILINE))
        for name in action["outputs"]:
            self.assertIn(f"`{name}`", text)


if __name__ == "__main__":
    unittest.main()
