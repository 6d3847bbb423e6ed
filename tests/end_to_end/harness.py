"""Runs example programs with and without liblynxpp.so. The end-to-end tests and scripts/gpu-check use it.

Python's standard library only.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import lynxpp  # noqa: E402

TIMEOUT = 300  # seconds a program may take


class TestFailure(Exception):
    """A failed check; the message is written to the log."""


def expect(condition, message):
    if not condition:
        raise TestFailure(message)


def demand_equal(what, actual, expected):
    expect(actual == expected, f"{what}: {actual!r}, expected {expected!r}")


class Run:
    """Result of a program: status (negative: killed by that signal), stdout as bytes, stderr as text."""

    def __init__(self, command, completed):
        self.command = command
        self.status = completed.returncode
        self.stdout = completed.stdout
        self.stderr = completed.stderr.decode(errors="replace")

    def __str__(self):
        return (f"command: {self.command}\nexit status {self.status}\nstdout:\n{self.stdout.decode(errors='replace')}\n"
                f"stderr:\n{self.stderr}")


def clean_environment():
    """The caller's environment without variables for lynxpp or the examples."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("LYNXPP_", "EXAMPLE_")) and name != "LD_PRELOAD"}


class Build:
    """A build folder (or an installation), and functions that start its programs."""

    def __init__(self, folder, device="cpu"):
        self.folder = pathlib.Path(folder).resolve()
        self.library = self.folder / "lib" / "liblynxpp.so"
        self.engine = self.folder / "lib" / "liblynxpp-engine.so"
        self.command = self.folder / "bin" / "lynxpp"
        self.examples = self.folder / "examples"
        self.device = device

    def run(self, program, *arguments, spec=None, preload=True, environment=None, folder=None, timeout=TIMEOUT):
        """Starts a program. `spec` and `environment` become LYNXPP_SPEC and further variables."""
        variables = clean_environment()
        if preload:
            variables["LD_PRELOAD"] = str(self.library if preload is True else preload)
            variables["LYNXPP_DEVICE"] = self.device
        if spec is not None:
            variables["LYNXPP_SPEC"] = str(spec)
        variables.update(environment or {})
        command = [str(program), *map(str, arguments)]
        shown = " ".join([f"{name}={value}" for name, value in sorted(variables.items())
                          if name.startswith(("LYNXPP_", "EXAMPLE_", "LD_PRELOAD"))] + command)
        try:
            completed = subprocess.run(command, env=variables, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                                       timeout=timeout, preexec_fn=one_after_another(program))
        except subprocess.TimeoutExpired as expired:
            raise TestFailure(f"{shown}\nstill ran after {timeout:.0f} s\nstderr: {(expired.stderr or b'').decode(errors='replace')}")
        return Run(shown, completed)

    def measure(self, program, *arguments, spec, environment=None):
        """Runs the instrumented program; returns the run and its records."""
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            run = self.run(program, *arguments, spec=spec, environment={"LYNXPP_OUTPUT": str(output), **(environment or {})})
            return run, Records(read_json_lines(output) if output.exists() else [])

    def measure_by_command(self, program, *arguments, spec, environment=None):
        """Same, through `lynxpp run`, including the cache and library folders that the command sets up."""
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            run = self.run(self.command, "run", "-d", self.device, "-s", spec, "-o", output, "--", program, *arguments, preload=False,
                           environment=environment)
            return run, Records(read_json_lines(output) if output.exists() else [])

    def count(self, program, *arguments):
        """Runs without instrumentation on the cpu device; returns the run and the device's own counters, one
        object per launch."""
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "counters.jsonl")
            run = self.run(program, *arguments, environment={"LYNXPP_CPU_COUNTERS": str(output), "LYNXPP_CPU_WORDS": "1"})
            return run, (read_json_lines(output) if output.exists() else [])


# The work of these programs' kernels depends on the order in which thread blocks reach their atomics.
ORDER_DEPENDENT = {"bfs", "histogram"}


def one_after_another(program):
    """Limits the cpu device to one processor, where it runs thread blocks in order, so that two runs can be
    compared."""
    if pathlib.Path(program).name not in ORDER_DEPENDENT:
        return None
    return lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def read_json_lines(path):
    """Returns a file's objects; launch records complete, without records of series."""
    values = []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise TestFailure(f"{path}:{number}: {error}: {line[:200]}")
    return list(lynxpp.completed(values))


def with_numbers(record):
    """Converts the record's ratios to numbers, None if the denominator is 0."""
    def number(result):
        return result["value"] if isinstance(result, dict) and "denominator" in result else result
    return {**record, "results": {name: number(result) for name, result in record["results"].items()}}


class Records:
    """The content of LYNXPP_OUTPUT. In `launches`, ratios are numbers."""

    def __init__(self, objects):
        self.all = objects
        self.launches = [with_numbers(entry) for entry in objects if entry.get("record") == "launch"]
        self.coverage = [entry for entry in objects if entry.get("record") == "coverage"]
        self.sites = [entry for entry in objects if entry.get("record") == "sites"]
        self.timing = [entry for entry in objects if entry.get("record") == "timing"]

    def sites_of(self, launch):
        """Returns the table of instructions to which a launch record's results refer."""
        for entry in self.sites:
            if entry["kernel"] == launch["kernel"] and entry["table"] == launch.get("sites"):
                return entry
        raise TestFailure(f"no record of sites for {launch['kernel']} launch {launch['launch']}")

    def by_launch(self, spec=None):
        """Returns {(kernel, launch): record} for one specification."""
        table = {}
        for record in self.launches:
            if spec is not None and record["spec"] != spec:
                continue
            key = (record["kernel"], record["launch"])
            expect(key not in table, f"two records of {key} for spec {record['spec']}")
            table[key] = record
        return table


def values(result):
    """Returns the numbers of a result: an array's elements, or the single number."""
    return result["values"] if isinstance(result, dict) else [result]


def product(numbers):
    total = 1
    for number in numbers:
        total *= number
    return total
