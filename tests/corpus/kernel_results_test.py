"""Runs the kernels of frameworks/ on the cpu device and compares their results with references (kernels.py).

usage: kernel_results_test.py BUILD_FOLDER [NAME_PART] [--check | --count | --table]

--check expects that lynxpp.check_ptx finds nothing, instead of comparing results. --count compares what specifications
count with the device's own counts. --table prints
docs/measurements/data/kernels-of-frameworks.csv: with the processor time, in ms, of loading the module and launching
the kernel, after a first launch.
"""
import gzip
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/end_to_end"), str(HERE)]
CHECKS, SHOWS_TABLE = "--check" in sys.argv, "--table" in sys.argv
WORDS = [word for word in sys.argv[1:] if not word.startswith("--")]
os.environ["LYNXPP_HOME"] = str(pathlib.Path(WORDS[0]).resolve())

import count_checks  # noqa: E402
import lynxpp  # noqa: E402
from harness import Records, TestFailure, read_json_lines  # noqa: E402
from kernels import CASES  # noqa: E402
from lynxpp import arguments, elements, worker  # noqa: E402
from lynxpp.ptx_run import Argument, is_close  # noqa: E402

LATER_LAUNCHES = 20
COUNTED = ["instruction_count", "async_operations", "opcode_mix", "active_lanes", "memory_efficiency", "shared_bank_conflicts"]


class Launch:
    """A case with its arguments."""

    def __init__(self, case):
        self.case = case
        self.text = gzip.decompress((HERE / "frameworks" / f"{case.name}.ptx.gz").read_bytes()).decode()
        self.values = [Argument(number, each, seed=1) for number, each in enumerate(case.arguments, 1)]
        self.arrays = {each.number: each for each in self.values if each.shape is not None}
        self.before = {number: bytes(each.data) for number, each in self.arrays.items()}

    def run(self, function=lynxpp.run_ptx, **options):
        entry, = arguments.entries(self.text)
        values = [each.value for each in self.values]
        return function(self.text, self.case.grid, entry.block, values, shared_bytes=self.case.shared_bytes, **options)

    def findings(self):
        """Returns what the checks of a launch find."""
        return [str(each) for each in self.run(lynxpp.check_ptx)]

    def differences(self):
        """Returns a line for each array that is not as expected after a launch."""
        expected = self.case.reference(*(list(elements.unpack(self.arrays[number].type, data)) for number, data in self.before.items()))
        kept = [number for number, each in self.arrays.items() if number not in expected and each.type != "u8"]  # u8: scratch memory
        lines = [f"argument {number} was changed" for number in kept if self.arrays[number].data != self.before[number]]
        for number, wanted in expected.items():
            got = self.arrays[number].elements
            if len(got) != len(wanted):
                lines.append(f"argument {number} has {len(got)} elements, its reference {len(wanted)}")
                continue
            wrong = [at for at, pair in enumerate(zip(got, wanted)) if not is_close(*pair, self.case.tolerance)]
            if wrong:
                shown = ", ".join(f"{self.arrays[number].index(at)} is {got[at]}, not {wanted[at]}" for at in wrong[:3])
                lines.append(f"argument {number}: {len(wrong)} of {len(got)} elements differ: {shown}")
        return lines


def processor_milliseconds():
    """Returns the time that the device's process has used."""
    with worker.shared_worker() as shared:
        fields = pathlib.Path(f"/proc/{shared._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) * 1000 / os.sysconf("SC_CLK_TCK")


def outcome(launch):
    """Returns what is wrong."""
    try:
        if CHECKS:
            return launch.findings()
        launch.run()
    except lynxpp.Error as problem:
        return [str(problem)]
    return launch.differences()


def device_counts(cases):
    """Returns the device's own counts of a launch of each case."""
    plain = worker._environment
    with tempfile.TemporaryDirectory() as folder:
        counters = pathlib.Path(folder, "counters.jsonl")
        worker._environment = lambda home, device: {**plain(home, device), "LYNXPP_CPU_COUNTERS": str(counters)}
        for case in cases:
            Launch(case).run()
        worker._workers.pop("cpu").kill()  # the next launch starts another one
        worker._environment = plain
        return read_json_lines(counters)


def wrong_counts(cases):
    """Returns a line for each case whose results or counts are wrong, and how many results equal the device's."""
    failures, equal = [], 0
    for case, counted in zip(cases, device_counts(cases), strict=True):
        launch = Launch(case)
        records = Records([dict(record) for record in lynxpp.completed(launch.run(spec=COUNTED)._records)])
        failures += [f"{case.name}: {line}" for line in launch.differences()]
        for record in records.launches:
            try:
                equal += count_checks.check_counts(record["spec"], records, record, counted)
            except TestFailure as failure:
                failures.append(f"{case.name}: {failure}")
    return failures, equal


def table_row(launch):
    wrong = outcome(launch)
    begin = processor_milliseconds()
    for _ in range(LATER_LAUNCHES):
        launch.run()
    time = (processor_milliseconds() - begin) / LATER_LAUNCHES
    return f"{launch.case.name},{'no' if wrong else 'yes'},{time:.1f}"


def main():
    cases = [case for case in CASES if all(part in case.name for part in WORDS[1:])]
    if SHOWS_TABLE:
        print("kernel,right,processor_ms", *(table_row(Launch(case)) for case in cases), sep="\n")
        return
    if "--count" in sys.argv:
        failures, equal = wrong_counts(cases)
        if failures or equal != len(COUNTED) * len(cases):
            sys.exit("failed:\n  " + "\n  ".join([f"{equal} results", *failures]))
        print(f"{len(cases)} cases, {equal} results equal the device's")
        return
    names = {f"{path.parent.name}/{path.name[: -len('.ptx.gz')]}" for path in HERE.glob("frameworks/*/*.ptx.gz")}
    failures = [f"{name}: no case" for name in sorted(names - {case.name for case in CASES})]
    for case in cases:
        failures += [f"{case.name}: {line}" for line in outcome(Launch(case))]
    print(f"{len(cases)} cases")
    if failures:
        sys.exit("failed:\n  " + "\n  ".join(failures))


if __name__ == "__main__":
    main()
