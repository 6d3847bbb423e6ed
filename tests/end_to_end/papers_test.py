"""Runs the commands of docs/papers.md that need no GPU, and looks for the verdicts' code in their output.

usage: papers_test.py BUILD_FOLDER [TEXT]      with TEXT: only rows that contain it, with times and outputs
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/papers.md"
CELLS = re.compile(r"^\| (.*) \| (.*) \| (.*) \|$")
CODE = re.compile(r"`([^`]+)`")
LIMIT = 240  # seconds of a command


def rows():
    """Yields (feature, command, is_repeated, verdict): `the same` repeats the command of the row before."""
    command = None
    for line in PAGE.read_text().splitlines():
        cells = CELLS.match(line)
        if not cells or cells[1] in ("feature", "---"):
            continue
        feature, given, verdict = cells.groups()
        is_repeated = given == "the same"
        if not is_repeated:
            command = given
        yield feature, command, is_repeated, verdict


class Runner:
    """Runs a command in a folder that looks like the repository, whose build/release is the tested build."""

    def __init__(self, build, folder):
        self.folder = folder
        release = pathlib.Path(folder, "build/release")
        release.mkdir(parents=True)
        # ctest writes its log into Testing: that of the build belongs to the ctest that runs this test.
        for target, source, left_out in ((pathlib.Path(folder), ROOT, "build"), (release, build, "Testing")):
            for name in os.listdir(source):
                if name != left_out:
                    (target / name).symlink_to(source / name)
        self.environment = {**os.environ, "PATH": f"{build / 'bin'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
                            "LYNXPP_DEVICE": "cpu", "XDG_DATA_HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, command):
        """Returns (status, output)."""
        if command.startswith("ctest"):
            listed = subprocess.run(f"{command} -N", shell=True, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT)
            return (1 if "Total Tests: 0" in listed.stdout else 0), listed.stdout
        ran = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LIMIT)
        return ran.returncode, ran.stdout + ran.stderr


def problems_of(row, status, output):
    feature, command, _, verdict = row
    if status != 0:
        return [f"{feature}: '{command}' exits with {status}:\n{output[-2000:]}"]
    return [f"{feature}: '{command}' does not print '{text}':\n{output[-2000:]}" for text in CODE.findall(verdict) if text not in output]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    if not (build / "examples/vecadd").exists() or not (build / "bin/lynxpp").exists():
        print("SKIP: the example programs were not built (no nvcc)")
        return 77
    wanted = [row for row in rows() if not row[1].startswith(("GPU:", "minutes:"))]
    without_code = [row for row in wanted if len(CODE.findall(row[1])) != 1]
    problems = [f"{row[0]}: not one command: {row[1]}" for row in without_code]
    if len(wanted) < 40:
        problems.append(f"{PAGE} has only {len(wanted)} rows that need no GPU")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(build, folder)

        def run(command):
            begin = time.monotonic()
            try:
                result = runner.run(command)
            except subprocess.TimeoutExpired:
                result = (-1, f"takes more than {LIMIT} s")
            return *result, time.monotonic() - begin

        commands = dict.fromkeys(CODE.findall(row[1])[0] for row in wanted if row not in without_code and only in "|".join(map(str, row)))
        # Some commands read the calibration that the first of its section has stored.
        first = [command for command in commands if "calibrate" in command]
        for command in first:
            found[command] = run(command)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            rest = [command for command in commands if command not in found]
            found.update(zip(rest, pool.map(run, rest)))
    for row in wanted:
        command = CODE.findall(row[1])[0]
        if command not in found:
            continue
        status, output, seconds = found[command]
        problems += problems_of((row[0], command, *row[2:]), status, output)
    if only:
        for command, (_, _, seconds) in sorted(found.items(), key=lambda each: each[1][2]):
            print(f"{seconds:6.1f} s: {command}")
    print("\n".join(problems) if problems else f"{len(found)} commands, {sum(seconds for _, _, seconds in found.values()):.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
