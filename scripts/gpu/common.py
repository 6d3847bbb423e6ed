"""Common parts of scripts/gpu-check: the unpacked package, starting its programs, and the results of a
part."""
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()
# In the repository the harness is among the tests, in the package next to this file.
for folder in (HERE.parent, HERE.parents[2] / "tests" / "end_to_end"):
    if (folder / "harness.py").exists():
        sys.path.insert(0, str(folder))
        break
from harness import Build, TestFailure, read_json_lines, values  # noqa: E402,F401

LIBRARY_FOLDERS = [pathlib.Path(folder) for folder in ("/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/lib/x86_64-linux-gnu")]


def gpu():
    """Returns (name, driver) of the first GPU, or `None`."""
    if not shutil.which("nvidia-smi"):
        return None
    query = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True)
    lines = query.stdout.strip().splitlines()
    return tuple(part.strip() for part in lines[0].split(",")) if query.returncode == 0 and lines else None


def markdown_table(header, rows):
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in [header] + rows]
    return "\n".join(["| " + " | ".join(cells[0]) + " |", "|" + " --- |" * len(header)] + ["| " + " | ".join(row) + " |" for row in cells[1:]])


def total(result):
    """Returns one number for a result: itself, or the sum of its elements."""
    numbers = [value for value in values(result) if value is not None]
    return sum(numbers)


class Package:
    """The unpacked package: an installed `lynxpp`, the examples in both forms, and the cpu device's
    counts."""

    def __init__(self, folder, device):
        self.folder = pathlib.Path(folder).resolve()
        self.device = device
        self.build = Build(self.folder, device=device)
        self.expected = json.loads((self.folder / "expected.json").read_text())
        self.specs = sorted(path.stem for path in (self.folder / "share" / "lynxpp" / "specs").glob("*.cod"))
        folders = [*LIBRARY_FOLDERS, self.folder / "cudart"]
        self.libraries = ":".join(str(folder) for folder in folders if folder.exists())

    def environment(self, more=None):
        return {"LD_LIBRARY_PATH": self.libraries, **(more or {})}

    def forms(self):
        """Returns how the examples are linked; the cpu device only supports the shared runtime."""
        return ("shared", "static") if self.device == "cuda" else ("shared",)

    def program(self, app, form=None):
        form = form or self.forms()[-1]
        return self.build.examples / ("static" if form == "static" else ".") / app

    def run(self, program, *arguments, spec=None, preload=True, environment=None, **more):
        return self.build.run(program, *arguments, spec=spec, preload=preload, environment=self.environment(environment), **more)

    def measure(self, program, *arguments, spec, environment=None):
        return self.build.measure(program, *arguments, spec=spec, environment=self.environment(environment))


class Findings:
    """Results of a part of the check: a few lines, tables, failures; written as JSON and Markdown."""

    def __init__(self, part, about):
        self.part = part
        self.about = about
        self.lines = []
        self.tables = []  # (title, header, rows)
        self.failures = []
        self.data = {}
        self.files = {}  # name: text, stored unchanged next to the tables

    def say(self, line):
        self.lines.append(line)

    def fail(self, message):
        self.failures.append(message)
        print(f"FAIL: {message.splitlines()[0][:300]}", flush=True)

    def table(self, title, header, rows):
        self.tables.append((title, header, [list(map(str, row)) for row in rows]))

    def write(self, folder, machine):
        folder.mkdir(parents=True, exist_ok=True)
        text = [f"# {self.part}: {self.about}", "", machine, ""]
        text += [f"- {line}" for line in self.lines] + [""]
        for title, header, rows in self.tables:
            text += [f"## {title}", "", markdown_table(header, rows), ""]
        if self.failures:
            text += ["## Failures", ""] + [f"```\n{failure}\n```\n" for failure in self.failures]
        (folder / f"{self.part}.md").write_text("\n".join(text))
        for name, content in self.files.items():
            (folder / name).write_text(content)
        tables = [{"title": title, "header": header, "rows": rows} for title, header, rows in self.tables]
        (folder / f"{self.part}.json").write_text(json.dumps(
            {"part": self.part, "machine": machine, "lines": self.lines, "failures": self.failures, "data": self.data, "tables": tables}))
