"""Launches as trials (LYNXPP_TRIALS): results are unchanged, every variant is timed equally often, and
launches are repeated only if the kernel's memory allows it.

usage: trials_test.py BUILD_FOLDER        exit status 77 if the programs were not built
"""
import collections
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import schema  # noqa: E402
from harness import Build  # noqa: E402

BUILD = Build(sys.argv.pop())
PROGRAM = BUILD.examples / "tests" / "trials"
if not PROGRAM.exists():
    sys.exit(77)
BOTH = "global-access:again,global-access:harmless"
COPIES, INCREMENTS, SUMS, FOLLOWS = "_Z6copiesPKjPj", "_Z10incrementsPj", "_Z4sumsPKjPj", "_Z7followsPKPj"


def run(launches, trials=BOTH, machine="compute_9_0", **variables):
    """Returns the run, the trials by (kernel, blocks) and perturbation, and the coverage by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        environment = {"LYNXPP_TRIALS": trials, "LYNXPP_OUTPUT": str(output), **{f"LYNXPP_TRIAL_{name}": value for name, value in variables.items()}}
        if machine:
            environment["LYNXPP_CPU_CLOCK"] = machine
        run = BUILD.run(PROGRAM, launches, environment=environment)
        records = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    trials, coverage = collections.defaultdict(dict), {}
    for record in records:
        if record["record"] == "trial":
            trials[record["kernel"], record["grid"][0]][record["perturbation"]] = record
        elif record["record"] == "coverage":
            coverage[record["kernel"]] = record
    return run, trials, coverage


class Trials(unittest.TestCase):

    def assert_unchanged(self, run, launches):
        native = BUILD.run(PROGRAM, launches)
        self.assertEqual((run.status, run.stdout), (0, native.stdout), run)

    def test_launches_take_turns(self):
        done, trials, coverage = run(14, REPLAY="0", LAUNCHES="12")
        self.assert_unchanged(done, 14)
        for key in ((COPIES, 32), (INCREMENTS, 32), (SUMS, 32), (FOLLOWS, 4), (COPIES, 16)):
            with self.subTest(key=key):
                self.assertEqual(set(trials[key]), {"", *BOTH.split(",")})
                for record in trials[key].values():
                    self.assertEqual(schema.complaint(record), "")
                    self.assertEqual((len(record["ms"]), record["launches"], record["replays"], record["is_modelled"]), (4, 14, 0, True))
                    self.assertTrue(all(time > 0 for time in record["ms"]))
        self.assertEqual(coverage[COPIES]["launches"], 28)
        self.assertFalse(coverage[COPIES]["instrumented"])

    def test_times_are_modelled_only_with_a_machine(self):
        done, trials, _ = run(3, machine=None, REPLAY="0")
        self.assert_unchanged(done, 3)
        self.assertFalse(trials[COPIES, 32][""]["is_modelled"])
        self.assertEqual(len(trials[COPIES, 32][""]["ms"]), 1)

    def test_kernels_that_do_not_read_what_they_write_are_repeated(self):
        done, trials, _ = run(1, LAUNCHES="9")
        self.assert_unchanged(done, 1)
        for record in trials[COPIES, 32].values():
            self.assertEqual((len(record["ms"]), record["launches"], record["replays"], record["note"]), (3, 1, 3, ""))
        for kernel, blocks, reason in ((INCREMENTS, 32, "it may write what it reads"), (SUMS, 32, "it updates memory atomically"),
                                       (FOLLOWS, 4, "it is unknown what it writes")):
            self.assertEqual(set(trials[kernel, blocks]), {""})
            record = trials[kernel, blocks][""]
            self.assertEqual((len(record["ms"]), record["replays"], record["note"]), (1, 0, f"its launches are not repeated: {reason}"))

    def test_all_are_repeated_with_saved_memory(self):
        for launches in (1, 2):
            done, trials, _ = run(launches, REPLAY="1", LAUNCHES="9")
            self.assert_unchanged(done, launches)
            for key in ((COPIES, 32), (INCREMENTS, 32), (SUMS, 32), (FOLLOWS, 4), (COPIES, 16)):
                for record in trials[key].values():
                    self.assertEqual((key, len(record["ms"]), record["replays"], record["note"]), (key, 3, 3, ""))

    def test_classes_include_occupancy(self):
        done, trials, _ = run(40, trials="classes", REPLAY="0")
        self.assert_unchanged(done, 40)
        fewer = trials[COPIES, 32]["occupancy:again"]
        self.assertEqual(fewer["blocks_per_sm"], trials[COPIES, 32][""]["blocks_per_sm"] - 1)

    def test_invalid_requests_leave_the_program_alone(self):
        for trials, variables, message in (("shared-access", {}, "LYNXPP_TRIALS: 'shared-access' is not a perturbation"),
                                           (BOTH, {"LAUNCHES": "many"}, "LYNXPP_TRIAL_LAUNCHES: 'many' is not a number of launches"),
                                           (BOTH, {"REPLAY": "2"}, "LYNXPP_TRIAL_REPLAY: '2' is neither 0 nor 1")):
            done, records, _ = run(1, trials=trials, **variables)
            self.assert_unchanged(done, 1)
            self.assertIn(message, done.stderr)
            self.assertIn("the program runs uninstrumented", done.stderr)
            self.assertEqual(records, {})
        both = BUILD.run(PROGRAM, 1, spec="instruction_count", environment={"LYNXPP_TRIALS": BOTH})
        self.assertIn("LYNXPP_TRIALS and LYNXPP_SPEC are set", both.stderr)
        self.assert_unchanged(both, 1)


if __name__ == "__main__":
    unittest.main()
