"""Runs a command under `lynxpp check-run`, measures it on the cpu device, and compares counts with budgets.

Reads the variables COMMAND, CHECKS, BUDGETS, SPECIFICATIONS and SARIF, which action.yml describes. Prints findings
and exceeded budgets as annotations of the workflow. Exit status: 1 if it prints any or if the command fails, 2 if
an input is invalid, otherwise 0. Needs only Python's standard library.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WORKSPACE = pathlib.Path(os.environ.get("GITHUB_WORKSPACE", ".")).resolve()
RULES = {
    "out of bounds": "Access outside of an allocation",
    "use after free": "Access to freed memory",
    "misaligned": "Misaligned access",
    "wrong space": "Access to memory of another state space",
    "invalid tensor": "Tensor map or operands that a tensor copy cannot use",
    "race": "Unordered accesses to the same bytes",
    "unfinished operation": "Access to memory of an asynchronous operation that has not been waited for",
    "missing proxy fence": "Asynchronous operation after ordinary accesses without fence.proxy.async",
    "uninitialized read": "Read of memory that was never written",
    "divergent barrier": "Barrier that a partial warp reaches",
    "endless barrier": "Barrier that waits forever",
    "skipped barrier": "Barrier that a warp skips",
    "wrong members": "Lane that executes an operation without being a member",
    "copies in flight": "Block that exits before its asynchronous copies are complete",
    "byte count mismatch": "mbarrier that expects other bytes than copies deliver",
    "barrier in use": "mbarrier that is replaced during a phase",
    "invalid barrier": "Operation on an mbarrier that does not exist",
    "unreleased memory": "Tensor memory that is not deallocated",
    "failing order": "Launch that fails only in some orders of its warps and blocks",
    "leak": "Memory that is never freed",
}


class Invalid(Exception):
    """An input that cannot be used; the message says what to change."""


def annotate(message, file=None, line=None):
    """Prints an error that the workflow's page shows, at a file and line if they are known."""
    def escaped(text, characters):
        return "".join(f"%{ord(each):02X}" if each in characters else each for each in str(text))
    properties = {"file": file, "line": line, "title": "lynxpp"}
    location = ",".join(f"{name}=" + escaped(value, "%:,\r\n") for name, value in properties.items() if value)
    print(f"::error {location}::" + escaped(message, "%\r\n"), flush=True)


def append_to(variable, text):
    """Appends to a file of the workflow, such as GITHUB_OUTPUT, if there is one."""
    if os.environ.get(variable):
        with open(os.environ[variable], "a", encoding="utf-8") as file:
            file.write(text)


# Findings

def relative(path):
    """Returns a path in the workspace as relative to it."""
    resolved = (WORKSPACE / path).resolve()
    return resolved.relative_to(WORKSPACE).as_posix() if resolved.is_relative_to(WORKSPACE) else None


def demangled(name):
    if not shutil.which("c++filt"):
        return name
    return subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip() or name


def program_point(place):
    text = place["action"]
    if "thread" in place:
        text += f" by thread {tuple(place['thread'])} of block {tuple(place['block'])}"
    if "ptx_line" in place and "source_file" not in place:
        text += f" (PTX line {place['ptx_line']})"
    return text


def message_of(finding):
    """Returns a finding's text."""
    if finding["type"] == "leak":
        return (f"{finding['bytes']:,} bytes of {finding['kind']} memory in {finding['allocations']:,} allocations "
                f"are never freed: {finding['site']}")
    text = (f"{finding['kind']} in kernel {demangled(finding['kernel'])}, {finding['count']:,} times: "
            + program_point(finding["place"]))
    if "other" in finding:
        text += f"; the other access: {program_point(finding['other'])}"
    if "detail" in finding:
        text += f"; {finding['detail']}"
    if "orders" in finding:
        orders = finding["orders"]
        text += f"; in {orders['found']} of {orders['judged']} orders, reproduced by --seed {orders['seed']}"
    return text if "source_file" in finding["place"] else text + "; compile with -lineinfo for source lines"


def physical_location(place, program):
    """Returns a SARIF location. Code scanning rejects results without a file: `program` represents unknown ones."""
    if "source_file" not in place:
        return {"artifactLocation": {"uri": program}}
    path = relative(place["source_file"])
    artifact = {"uri": path, "uriBaseId": "%SRCROOT%"}
    if not path:
        artifact = {"uri": pathlib.Path(place["source_file"]).absolute().as_uri()}
    region = {"region": {"startLine": place["source_line"]}} if place.get("source_line") else {}
    return {"artifactLocation": artifact, **region}


def result_of(finding, program):
    """Returns a finding as a result of SARIF."""
    kind = "leak" if finding["type"] == "leak" else finding["kind"]
    location = {"physicalLocation": physical_location(finding.get("place", {}), program)}
    if "kernel" in finding:
        location["logicalLocations"] = [{"fullyQualifiedName": finding["kernel"], "kind": "function"}]
    result = {"ruleId": kind.replace(" ", "-"), "level": "warning" if kind == "leak" else "error",
              "message": {"text": message_of(finding)}, "locations": [location]}
    if "source_file" in finding.get("other", {}):
        result["relatedLocations"] = [{"physicalLocation": physical_location(finding["other"], program),
                                       "message": {"text": program_point(finding["other"])}}]
    return result


def sarif_of(findings, program, version):
    """Returns the log of one run."""
    rules = [{"id": kind.replace(" ", "-"), "shortDescription": {"text": text}} for kind, text in RULES.items()]
    driver = {"name": "lynxpp", "version": version, "rules": rules}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "columnKind": "utf16CodeUnits",
                      "results": [result_of(finding, program) for finding in findings]}]}


# Runs

def lynxpp(*arguments, **options):
    return subprocess.run(["lynxpp", *map(str, arguments)], check=False, **options)


def run_checks(command, checks, output):
    """Returns (findings, problem); there is a problem if the command failed or nothing was checked."""
    status = lynxpp("check-run", "--checks", checks, "--output", output, "--", "bash", "-c", command).returncode
    if status == 2 and not output.exists():  # otherwise it is the command's status
        raise Invalid(f"lynxpp check-run rejects the checks '{checks}'")
    lines = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    problem = None
    if not lines:
        problem = "the command launched no kernel on the cpu device: nothing was checked"
    if status not in (0, 3):
        problem = f"the command failed with exit status {status} under check-run"
    return [line for line in lines if line["type"] != "summary"], problem


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
    text += "".join(f"- {message_of(finding)}\n" for finding in findings)
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
            findings, problem = run_checks(command, checks, pathlib.Path(folder, "findings.jsonl"))
            problems += [problem] if problem else []
        if file:
            records = pathlib.Path(folder, "records.jsonl")
            problem = measure(command, environment["SPECIFICATIONS"], records)
            problems += [problem] if problem else []
            budgets = {"rows": [], "exceeded": 1} if problem else compare(records, file)
            annotate_budgets(budgets)
    # The first file of the workspace that the command names is the program, as far as this can be known.
    files = (relative(word) for word in command.split() if (WORKSPACE / word).is_file())
    program = next(filter(None, files), "lynxpp")
    version = lynxpp("--version", stdout=subprocess.PIPE, text=True).stdout.split()[-1]
    pathlib.Path(environment["SARIF"]).write_text(json.dumps(sarif_of(findings, program, version), indent=1) + "\n")
    for finding in findings:
        place = finding.get("place", {})
        file = relative(place["source_file"]) if "source_file" in place else None
        annotate(message_of(finding), file, place.get("source_line"))
    for problem in problems:
        annotate(problem)
    append_to("GITHUB_OUTPUT", f"findings={len(findings)}\nexceeded={budgets['exceeded']}\n")
    append_to("GITHUB_STEP_SUMMARY", summary_text(findings, budgets))
    return 1 if findings or budgets["exceeded"] or problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main(os.environ))
    except Invalid as invalid:
        annotate(invalid)
        sys.exit(2)
