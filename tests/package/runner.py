"""Runs a composite GitHub Action on this machine. Steps that use other actions are recorded, not run.

usage: runner.py ACTION_FOLDER WORKSPACE INPUT=VALUE…
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml


class Unsupported(Exception):
    """Something in action.yml that this runner does not implement."""


class Result:
    """A run: status of the last step that failed, or 0; the text that all steps printed; the outputs of the action;
    the inputs of the other actions that it uses."""

    def __init__(self):
        self.status = 0
        self.text = ""
        self.summary = ""
        self.outputs = {}
        self.used = {}


class Runner:
    def __init__(self, action, workspace, temporary):
        self.folder = pathlib.Path(action).resolve()
        self.action = yaml.safe_load((self.folder / "action.yml").read_text())
        self.workspace = pathlib.Path(workspace).resolve()
        self.temporary = pathlib.Path(temporary)
        self.paths = []  # the last added first
        self.step_outputs = {}
        self.inputs = {}

    def value(self, name):
        """Returns the value of a name in an expression."""
        if match := re.fullmatch(r"inputs\.([\w-]+)", name):
            if match[1] not in self.action["inputs"]:
                raise Unsupported(f"no input '{match[1]}'")
            return self.inputs[match[1]]
        if match := re.fullmatch(r"steps\.([\w-]+)\.outputs\.([\w-]+)", name):
            return self.step_outputs.get(match[1], {}).get(match[2], "")
        raise Unsupported(f"expression '{name}'")

    def substituted(self, text):
        return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda match: self.value(match[1]), str(text))

    def all_substituted(self, texts):
        return {name: self.substituted(text) for name, text in texts.items()}

    def is_wanted(self, condition, status):
        """Evaluates `if`, a conjunction. A step runs after a failed one only with always()."""
        terms = [term.strip() for term in condition.split("&&")] if condition else []
        wanted = status == 0 or "always()" in terms
        for term in terms:
            if term != "always()":
                match = re.fullmatch(r"([\w.-]+) == '([^']*)'", term)
                if not match:
                    raise Unsupported(f"condition '{term}'")
                wanted = wanted and self.value(match[1]) == match[2]
        return wanted

    def run(self, **inputs):
        declared = self.action["inputs"]
        if unknown := inputs.keys() - declared.keys():
            raise Unsupported(f"inputs {unknown}")
        if missing := {name for name, entry in declared.items() if entry.get("required") and name not in inputs}:
            raise Unsupported(f"no value for the inputs {missing}")
        self.inputs = {name: str(inputs.get(name, entry.get("default", ""))) for name, entry in declared.items()}
        result = Result()
        for step in self.action["runs"]["steps"]:
            if not self.is_wanted(step.get("if"), result.status):
                continue
            if "uses" in step:
                result.used[step["uses"].partition("@")[0]] = self.all_substituted(step["with"])
                continue
            result.status = self.run_step(step, result) or result.status
        result.outputs = {name: self.substituted(entry["value"]) for name, entry in self.action["outputs"].items()}
        return result

    def run_step(self, step, result):
        """Returns the step's exit status."""
        if step["shell"] != "bash":
            raise Unsupported(f"shell {step['shell']}")
        with tempfile.TemporaryDirectory() as folder:
            names = ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
            files = {name: pathlib.Path(folder, name) for name in names}
            for file in files.values():
                file.touch()
            script = pathlib.Path(folder, "script.sh")
            script.write_text(self.substituted(step["run"]))
            variables = {**os.environ, **{name: str(file) for name, file in files.items()},
                         "GITHUB_ACTION_PATH": str(self.folder), "GITHUB_WORKSPACE": str(self.workspace),
                         "RUNNER_TEMP": str(self.temporary), **self.all_substituted(step.get("env", {}))}
            variables["PATH"] = os.pathsep.join([*self.paths, variables["PATH"]])
            ended = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=self.workspace,
                                   env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
            result.text += ended.stdout
            result.summary += files["GITHUB_STEP_SUMMARY"].read_text()
            self.paths = files["GITHUB_PATH"].read_text().split("\n")[:-1][::-1] + self.paths
            outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
            self.step_outputs[step.get("id")] = outputs
        return ended.returncode


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        inputs = dict(argument.split("=", 1) for argument in sys.argv[3:])
        result = Runner(sys.argv[1], sys.argv[2], temporary).run(**inputs)
    print(result.text, end="")
    print(f"outputs: {result.outputs}")
    for action, values in result.used.items():
        print(f"would use {action} with {values}")
    return result.status


if __name__ == "__main__":
    sys.exit(main())
