"""Runs a command under `lynxpp check-run`, measures it on the cpu device, and compares counts with budgets.

Reads the variables COMMAND, CHECKS, BUDGETS, SPECIFICATIONS and SARIF, which action.yml describes. Prints findings
and exceeded budgets as annotations of the workflow. Exit status: 1 if it prints any or if the command fails, 2 if
an input is invalid, otherwise 0. Needs only Python's standard library.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

WORKSPACE = pathlib.Path(os.environ.get("GITHUB_WORKSPACE", ".")).resolve()


class Invalid(Exception):
    """An input that cannot be used; the message says what to change."""


def annotate(message, file=None, line=None, level="error"):
    """Prints an error or warning that the workflow's page shows, at a file and line if they are known."""
    def escaped(text, characters):
        return "".join(f"%{ord(each):02X}" if each in characters else each for each in str(text))
    properties = {"file": file, "line": line, "title": "lynxpp"}
    location = ",".join(f"{name}=" + escaped(value, "%:,\r\n") for name, value in properties.items() if value)
    print(f"::{level} {location}::" + escaped(message, "%\r\n"), flush=True)


def append_to(variable, text):
    """Appends to a file of the workflow, such as GITHUB_OUTPUT, if there is one."""
    if os.environ.get(variable):
        with open(os.environ[variable], "a", encoding="utf-8") as file:
            file.write(text)


def relative(path):
    """Returns a path in the workspace as relative to it."""
    resolved = (WORKSPACE / path).resolve()
    return resolved.relative_to(WORKSPACE).as_posix() if resolved.is_relative_to(WORKSPACE) else None


def annotate_findings(results):
    for result in results:
        location = result["locations"][0]["physicalLocation"]
        artifact, line = location["artifactLocation"], location.get("region", {}).get("startLine")
        file = None
        if line and "uriBaseId" in artifact:  # relative to the working directory
            file = relative(pathlib.Path(urllib.parse.unquote(artifact["uri"])).absolute())
        annotate(result["message"]["text"], file, line, result["level"])


# Runs

def lynxpp(*arguments, **options):
    return subprocess.run(["lynxpp", *map(str, arguments)], check=False, **options)


def run_checks(command, checks, sarif):
    """Returns (results, problem); there is a problem if the command failed or nothing was checked."""
    sarif.unlink(missing_ok=True)
    status = lynxpp("check-run", "--checks", checks, "--format", "sarif", "--output", sarif, "--",
                    "bash", "-c", command).returncode
    if not sarif.exists():
        raise Invalid(f"lynxpp check-run rejects the checks '{checks}'")
    run = json.loads(sarif.read_text())["runs"][0]
    problem = None
    if not run["invocations"][0]["executionSuccessful"]:
        problem = "the command launched no kernel on the cpu device: nothing was checked"
    if status not in (0, 3):
        problem = f"the command failed with exit status {status} under check-run"
    return run["results"], problem


def measure(command, specifications, output):
    """Runs the command instrumented on the cpu device. Returns a problem, or None if there are records."""
    run = lynxpp("run", "--device", "cpu", "--spec", specifications, "--output", output, "--",
                 "bash", "-c", command, env={**os.environ, "LYNXPP_TABLE": "0"})
    if run.returncode == 2 and not output.exists():
        raise Invalid(f"lynxpp run rejects the specifications '{specifications}'")
    if run.returncode == 3:
        return "the command launched no kernel that was measured"
    if run.returncode != 0:
        return f"the command failed with exit status {run.returncode} under lynxpp run"
    return None


def compare(records, file):
    """Returns the budgets as `lynxpp report diff --json` compares them: file, exceeded and rows."""
    diff = lynxpp("report", "diff", records, "--budgets", file, "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if diff.returncode not in (0, 4):
        raise Invalid(diff.stderr.strip())
    return json.loads(diff.stdout)["budgets"]


def check_budgets(file, folder):
    """Raises Invalid if the file of budgets cannot be used, before anything runs."""
    empty = pathlib.Path(folder, "empty.jsonl")
    empty.write_text(json.dumps({"record": "process", "process": "0" * 12}) + "\n")
    compare(empty, file)


def summary_text(findings, budgets):
    """Returns the text for the workflow's page."""
    text = f"### lynxpp\n\nFindings: {len(findings)}\n\n"
    text += "".join("- " + finding["message"]["text"].replace("\n", "\n  ") + "\n" for finding in findings)
    if budgets["rows"]:
        text += "\n| kernel | metric | value | limit | |\n| --- | --- | ---: | ---: | --- |\n"
        for row in budgets["rows"]:
            limits = [f"{word} {row[key]:,}" for key, word in (("at_least", "≥"), ("at_most", "≤")) if key in row]
            shown = "" if row["value"] is None else f"{row['value']:,}"
            cells = [row["kernel"].replace("|", "\\|"), row["metric"], shown, ", ".join(limits),
                     "failed" if row["problem"] else "kept"]
            text += "| " + " | ".join(cells) + " |\n"
    return text


def annotate_budgets(budgets):
    for row in budgets["rows"]:
        if row["problem"]:
            value = "" if row["value"] is None else f" is {row['value']:,} in {row['launches']:,} launches"
            annotate(f"{row['metric']} of {row['kernel']}{value}: {row['problem']}", relative(budgets["file"]), row["line"])


def main(environment):
    command, checks, file = environment["COMMAND"], environment["CHECKS"], environment["BUDGETS"]
    findings, problems, budgets = [], [], {"rows": [], "exceeded": 0}
    with tempfile.TemporaryDirectory() as folder:
        if file:
            check_budgets(file, folder)
        if checks:
            findings, problem = run_checks(command, checks, pathlib.Path(environment["SARIF"]).absolute())
            problems += [problem] if problem else []
            annotate_findings(findings)
        if file:
            records = pathlib.Path(folder, "records.jsonl")
            problem = measure(command, environment["SPECIFICATIONS"], records)
            problems += [problem] if problem else []
            budgets = {"rows": [], "exceeded": 1} if problem else compare(records, file)
            annotate_budgets(budgets)
    for problem in problems:
        annotate(problem)
    append_to("GITHUB_OUTPUT", f"findings={len(findings)}\nexceeded={budgets['exceeded']}\nsarif={'true' if checks else 'false'}\n")
    append_to("GITHUB_STEP_SUMMARY", summary_text(findings, budgets))
    return 1 if findings or budgets["exceeded"] or problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main(os.environ))
    except Invalid as invalid:
        annotate(invalid)
        sys.exit(2)
