"""Runs a command under `lynxpp check-run`, measures it on the cpu device, and compares counts with budgets.

Reads the variables COMMAND, CHECKS, BUDGETS, SPECIFICATIONS and SARIF, which action.yml describes. Prints findings
and exceeded budgets as annotations of the workflow. Exit status: 1 if it prints any or if the command fails, 2 if
an input is invalid, otherwise 0. Needs only Python's standard library; TOML needs Python 3.11.
"""
import json
import math
import os
import pathlib
import re
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
    "race": "Unordered accesses to the same bytes",
    "uninitialized read": "Read of memory that was never written",
    "divergent barrier": "Barrier that a partial warp reaches",
    "endless barrier": "Barrier that waits forever",
    "skipped barrier": "Barrier that a warp skips",
    "wrong members": "Lane that executes an operation without being a member",
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


# Budgets

def parsed_budgets(path):
    """Returns the file's content, and the lines of its budgets as far as they are known."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text), []
    try:
        import tomllib  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise Invalid(f"{path}: TOML needs Python 3.11; write the budgets as JSON") from error
    header = re.compile(r"\s*\[\[\s*budget\s*\]\]")
    return tomllib.loads(text), [number for number, line in enumerate(text.splitlines(), 1) if header.match(line)]


def read_budgets(name):
    """Returns the budgets of a file: dicts with kernel (a compiled expression), metric, limit, file and line."""
    path = pathlib.Path(name)
    try:
        content, lines = parsed_budgets(path)
    except (OSError, ValueError) as error:
        raise Invalid(f"{name}: {error}") from error
    tables = content.get("budget") if isinstance(content, dict) and len(content) == 1 else None
    if not isinstance(tables, list) or not tables:
        raise Invalid(f"{name}: must contain [[budget]] tables and nothing else")
    budgets = []
    for number, budget in enumerate(tables):
        where = f"{name}: budget {number + 1}"
        if not isinstance(budget, dict) or set(budget) != {"kernel", "metric", "limit"}:
            raise Invalid(f"{where} must have the members kernel, metric and limit")
        limit = budget["limit"]
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not math.isfinite(limit):
            raise Invalid(f"{where}: limit is not a number")
        try:
            kernel = re.compile(budget["kernel"])
        except (re.error, TypeError) as error:
            raise Invalid(f"{where}: kernel is not a regular expression: {error}") from error
        line = lines[number] if number < len(lines) else None
        budgets.append({**budget, "kernel": kernel, "file": name, "line": line})
    return budgets


def matches(budget, entry):
    return budget["kernel"].search(entry["kernel"]) or budget["kernel"].search(entry.get("demangled", ""))


def name_of(entry):
    return entry.get("demangled", entry["kernel"])


def metrics_of(budget, summary):
    """Returns the metrics of the budget's kernels."""
    return sorted({name for specification in summary["specifications"] for kernel in specification["kernels"]
                   if matches(budget, kernel) for name in kernel["results"]})


def values_of(budget, summary):
    """Yields (kernel, launches, value) for each kernel and specification that has the budget's metric."""
    for specification in summary["specifications"]:
        for kernel in specification["kernels"]:
            result = kernel["results"].get(budget["metric"]) if matches(budget, kernel) else None
            if result:
                yield name_of(kernel), kernel["launches"], result["value"]


def compare(budget, summary):
    """Yields a row (kernel, metric, value, limit, problem) for each kernel; problem is empty if it is kept."""
    metric, limit = budget["metric"], budget["limit"]
    for entry in summary["not_instrumented"]:
        if matches(budget, entry):
            problem = f"launches of {name_of(entry)} were not measured: {entry['reason']}"
            yield name_of(entry), metric, None, limit, problem
    values = list(values_of(budget, summary))
    if not values:
        pattern, names = budget["kernel"].pattern, metrics_of(budget, summary)
        problem = f"no kernel matches '{pattern}'"
        if names:
            problem = f"no metric '{metric}' of {pattern}; its metrics are {', '.join(names)}"
        yield pattern, metric, None, limit, problem
    for name, launches, value in values:
        problem = ""
        # A ratio whose denominator is 0 has no value, and exceeds nothing.
        if value is not None and value > limit:
            problem = f"{metric} of {name} is {value:,} in {launches:,} launches; the limit is {limit:,}"
        yield name, metric, value, limit, problem


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
    """Returns (summary as `lynxpp report --format json` prints it, problem)."""
    run = lynxpp("run", "--device", "cpu", "--spec", specifications, "--output", output, "--",
                 "bash", "-c", command, env={**os.environ, "LYNXPP_TABLE": "0"})
    if run.returncode == 2 and not output.exists():
        raise Invalid(f"lynxpp run rejects the specifications '{specifications}'")
    if run.returncode == 3:
        return None, "the command launched no kernel that was measured"
    if run.returncode != 0:
        return None, f"the command failed with exit status {run.returncode} under lynxpp run"
    report = lynxpp("report", output, "--format", "json", stdout=subprocess.PIPE, text=True)
    if report.returncode != 0:
        return None, "lynxpp report cannot read the records"
    return json.loads(report.stdout), None


def summary_text(findings, rows):
    """Returns the text for the workflow's page."""
    text = f"### lynxpp\n\nFindings: {len(findings)}\n\n"
    text += "".join(f"- {message_of(finding)}\n" for finding in findings)
    if rows:
        text += "\n| kernel | metric | value | limit | |\n| --- | --- | ---: | ---: | --- |\n"
        for kernel, metric, value, limit, problem in rows:
            shown = "" if value is None else f"{value:,}"
            cells = [kernel.replace("|", "\\|"), metric, shown, f"{limit:,}", "exceeded" if problem else "kept"]
            text += "| " + " | ".join(cells) + " |\n"
    return text


def compare_all(budgets, summary):
    """Returns (rows, number of budgets with a problem) and annotates the problems."""
    rows, exceeded = [], 0
    for budget in budgets:
        compared = list(compare(budget, summary))
        problems = [row[4] for row in compared if row[4]]
        rows += compared
        exceeded += bool(problems)
        for problem in problems:
            annotate(problem, relative(budget["file"]), budget["line"])
    return rows, exceeded


def main(environment):
    command, checks = environment["COMMAND"], environment["CHECKS"]
    budgets = read_budgets(environment["BUDGETS"]) if environment["BUDGETS"] else []
    findings, rows, problems, exceeded = [], [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        if checks:
            findings, problem = run_checks(command, checks, pathlib.Path(folder, "findings.jsonl"))
            problems += [problem] if problem else []
        if budgets:
            records = pathlib.Path(folder, "records.jsonl")
            summary, problem = measure(command, environment["SPECIFICATIONS"], records)
            problems += [problem] if problem else []
            rows, exceeded = compare_all(budgets, summary) if summary else ([], len(budgets))
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
    append_to("GITHUB_OUTPUT", f"findings={len(findings)}\nexceeded={exceeded}\n")
    append_to("GITHUB_STEP_SUMMARY", summary_text(findings, rows))
    return 1 if findings or exceeded or problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main(os.environ))
    except Invalid as invalid:
        annotate(invalid)
        sys.exit(2)
