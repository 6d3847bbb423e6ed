"""Common parts of scripts/gpu-check and of the scripts of this folder that pack programs here and measure them on
another machine: packages, starting their programs, and the results of a part."""
import datetime
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
# In the repository the harness is among the tests, in the package next to this file.
for folder in (HERE.parent, HERE.parents[2] / "tests" / "end_to_end"):
    if (folder / "harness.py").exists():
        sys.path.insert(0, str(folder))
        break
from harness import Build, TestFailure, read_json_lines, values  # noqa: E402,F401

MACHINE = "compute_9_0"  # of modelled time
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


def in_percent(fraction):
    return "" if fraction is None else f"{100 * fraction:.1f}"


def machine_of(device, script):
    """Returns the line that says where and when `script` measured; without a GPU, prints an error and returns `None`."""
    found = gpu() if device == "cuda" else ("cpu device", f"time modelled for {MACHINE}")
    if found is None:
        print("error: no GPU found by nvidia-smi", file=sys.stderr)
        return None
    return f"{', '.join(found)}; {datetime.date.today().isoformat()}, `scripts/gpu/{script} measure`"


# Packages of the command, its libraries and some programs, for a machine without this repository.

def copy_command(build_folder, tree):
    """Copies the command, its libraries and the CUDA runtime to the folder `tree`."""
    for name in ("bin/lynxpp", "lib/liblynxpp.so", "lib/liblynxpp-engine.so"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build_folder / name, tree / name)
        subprocess.run(["strip", tree / name], check=True)
    (tree / "cudart").mkdir()
    shutil.copy(next(folder / "libcudart.so.13" for folder in LIBRARY_FOLDERS if (folder / "libcudart.so.13").exists()), tree / "cudart")


def compile_program(nvcc, source, target, *options):
    """Compiles a program with PTX and code for compute capability 9.0, and with the shared CUDA runtime."""
    subprocess.run([nvcc, "-O2", "-lineinfo", "-cudart", "shared", "-gencode", "arch=compute_90,code=[compute_90,sm_90]", *options, "-o", target, source],
                   check=True)


def pack(out, fill, scripts):
    """Writes OUT/package.tar.gz with what fill(folder) puts into a folder. Copies `scripts`, names of files in this folder, and what they need to OUT."""
    root = HERE.parents[2]
    out.mkdir(parents=True, exist_ok=True)
    archive = out / "package.tar.gz"
    with tempfile.TemporaryDirectory() as folder:
        fill(pathlib.Path(folder))
        with tarfile.open(archive, "w:gz", compresslevel=6) as tar:
            tar.add(folder, arcname=".")
    for script in (*(HERE.parent / name for name in (*scripts, "common.py")), root / "tests" / "end_to_end" / "harness.py"):
        shutil.copy(script, out)
    shutil.copytree(root / "python" / "lynxpp", out / "lynxpp", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB")


def unpacked(source):
    """Returns a folder: `source`, or the contents of an archive, unpacked once in the same folder."""
    if source.is_dir():
        return source
    folder = source.parent / "unpacked"
    if not folder.exists() or folder.stat().st_mtime < source.stat().st_mtime:
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(source) as archive:
            archive.extractall(folder)
        os.utime(folder)
    return folder


class Runner:
    """Starts the programs of a build folder or of an unpacked package, on a GPU or on the cpu device.

    A command takes at most `seconds`. No command starts after `budget` seconds, and one that runs then is stopped after `last_seconds` more."""

    def __init__(self, folder, device, seconds, budget=math.inf, last_seconds=math.inf, working_folder=None, variables=None):
        self.build = Build(folder, device=device)
        self.device, self.seconds, self.last_seconds, self.working_folder = device, seconds, last_seconds, working_folder
        self.deadline = time.monotonic() + budget
        libraries = [each for each in (*LIBRARY_FOLDERS, self.build.folder / "cudart") if each.exists()]
        self.environment = {"LD_LIBRARY_PATH": ":".join(map(str, libraries)), **({"LYNXPP_CPU_CLOCK": MACHINE} if device == "cpu" else {}),
                            **(variables or {})}

    def run(self, *command, variables=None, preload=False):
        left = self.deadline - time.monotonic()
        if left < 0:
            raise TestFailure(f"no time was left for {command}")
        run = self.build.run(*command, preload=preload, environment={**self.environment, **(variables or {})}, folder=self.working_folder,
                             timeout=min(self.seconds, left + self.last_seconds))
        if run.status != 0:
            raise TestFailure(str(run))
        return run


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
