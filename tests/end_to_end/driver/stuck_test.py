"""Driver calls that never return: the program continues and ends, complete records are on disk, and coverage
says what is missing. A program that itself hangs in such a call can be ended.

Arguments: the build folder, the program, the library whose functions never return.
"""
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import TIMEOUT, Build, TestFailure, clean_environment, demand_equal, expect, read_json_lines  # noqa: E402


class Stuck:
    def __init__(self, build, program, driver, folder):
        self.program, self.output = program, folder / "records.jsonl"
        (folder / "libcuda.so.1").symlink_to(driver)
        self.environment = {**clean_environment(), "LD_PRELOAD": str(build.library), "LYNXPP_DEVICE": "cuda",
                            "LYNXPP_SPEC": "instruction_count", "LYNXPP_OUTPUT": str(self.output), "LYNXPP_TABLE": "0",
                            "LYNXPP_CONTROL": "0", "LD_LIBRARY_PATH": str(folder)}

    def run(self, function):
        """Runs the program; returns its recorded launches and coverage."""
        self.output.unlink(missing_ok=True)
        run = subprocess.run([self.program], env={**self.environment, "STUCK_IN": function}, capture_output=True, text=True,
                             timeout=TIMEOUT)
        demand_equal(f"status while {function or 'nothing'} is stuck: {run}", run.returncode, 0)
        demand_equal("output", run.stdout, "done\n")
        expect((f"stuck in {function}" in run.stderr) == bool(function), f"no call was stuck: {run}")
        return self.records()

    def records(self):
        records = read_json_lines(self.output)
        coverage, = [each for each in records if each["record"] == "coverage"]
        return [each["launch"] for each in records if each["record"] == "launch"], coverage

    def ended_by(self, function, number):
        """Same, for a program that is ended while it hangs."""
        self.output.unlink(missing_ok=True)
        with subprocess.Popen([self.program], env={**self.environment, "STUCK_IN": function}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            line = process.stderr.readline()
            while line and line != f"stuck in {function}\n":
                line = process.stderr.readline()
            process.send_signal(number)
            process.communicate(timeout=TIMEOUT)
            demand_equal("status", process.returncode, -number)
        return self.records()


def main():
    build = Build(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        stuck = Stuck(build, sys.argv[2], sys.argv[3], pathlib.Path(folder))
        launches, coverage = stuck.run("")
        demand_equal("records of a driver that returns", (launches, coverage["notes"]), ([0, 1, 2], []))
        launches, coverage = stuck.run("cuMemcpyDtoHAsync")
        demand_equal("records while no copy completes", launches, [])
        demand_equal("notes of coverage", coverage["notes"], ["the program ended before 3 launches finished; the results are missing"])
        launches, coverage = stuck.run("cuMemHostAlloc")
        demand_equal("records of launches that had no memory", (launches, coverage["instrumented_launches"]), ([], 0))
        expect(any(note.startswith("3 launches ran uninstrumented for lack of memory (up to ")
                   and note.endswith(": the driver did not provide pinned host memory in time") for note in coverage["notes"]),
               f"coverage says {coverage['notes']}")
        launches, coverage = stuck.ended_by("cuLaunchKernelEx", signal.SIGTERM)
        demand_equal("records of a launch that hangs", launches, [])
        demand_equal("launches seen", coverage["launches"], 1)
        demand_equal("notes of coverage", coverage["notes"],
                     ["the program ended before 1 launch finished; the results are missing"])
    print("three functions were stuck")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
