"""`lynxpp quality` on the cpu device: criteria of kernels known in closed form, ranges, primitives, the
schema.

usage: quality_test.py BUILD_FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("SKIP: python3-jsonschema is not installed for this Python")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/schema/quality.schema.json").read_text())
WEIGHTS_SCHEMA = json.loads((ROOT / "docs/schema/weights.schema.json").read_text())
BUILD = pathlib.Path(sys.argv.pop())
PROGRAM = BUILD / "examples/tests/quality"
PRIMITIVES = BUILD / "examples/primitives"
IMPLEMENTATIONS = BUILD / "examples/tests/implementations"
if not PROGRAM.exists() or not PRIMITIVES.exists():
    print("SKIP: the example programs were not built (no nvcc)")
    sys.exit(77)
# Variables of the caller that programs may see.
KEPT = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}


def lynxpp(*arguments, **environment):
    return subprocess.run(
        [BUILD / "bin/lynxpp", *arguments],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **KEPT, **environment},
        timeout=300,
    )


def quality(*arguments, **environment):
    outcome = lynxpp("quality", "--json", "-d", "cpu", *arguments, **environment)
    assert outcome.returncode == 0, outcome.stderr
    result = json.loads(outcome.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(result)
    return result


def subjects_of(result, kind="range"):
    return {subject["name"]: subject for subject in result["subjects"] if subject["kind"] == kind}


def inputs_of(subject):
    return {each["name"]: each["value"].replace(",", "") for each in subject["inputs"]}


def weights_file(folder, low):
    """The paper's weights with evidence: a rank correlation whose interval begins at `low`."""
    file = pathlib.Path(folder, "weights.json")
    weights = dict(zip(("OC", "LB", "WE", "SO", "IO", "MH", "MC", "DT"), (30, 30, 15, 10, 70, 100, 100, 50)))
    order = {"pairs": 20, "right": 18, "rank_correlation": 0.8, "low": low, "high": 1}
    file.write_text(json.dumps({"source": "test", "device": "a device", "date": "2026-11-30", "weights": weights, "fit": {"validated_order": order}}))
    return file


class ClosedForms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.result = quality("--weights", weights_file(folder, 0.3), "--", PROGRAM)
        cls.ranges = subjects_of(cls.result)
        cls.kernels = {name.split("(")[0]: each for name, each in subjects_of(cls.result, "kernel").items()}

    def criteria(self, name):
        return self.ranges[name]["criteria"]

    def test_ranges_come_from_the_program(self):
        names = ["divergence", "hierarchy", "barrier", "copied", "overlapped", "overlapped/inner"]
        self.assertEqual(list(self.ranges), names)
        self.assertEqual((self.result["device"], self.result["times"]), ("compute_9_0", "modelled"))

    def test_one_lane_of_32_is_a_32nd(self):
        self.assertGreater(self.criteria("divergence")["WE"], 1 / 32)
        self.assertLess(self.criteria("divergence")["WE"], 2.5 / 32)
        self.assertEqual(self.criteria("hierarchy")["WE"], 1)

    def test_three_of_four_accesses_are_near(self):
        self.assertEqual(self.criteria("hierarchy")["MH"], 0.75)
        self.assertEqual(self.criteria("divergence")["MH"], 0)

    def test_seven_of_eight_warps_wait(self):
        self.assertAlmostEqual(self.kernels["waiting"]["criteria"]["SO"], 1 / 8, delta=0.002)
        self.assertAlmostEqual(self.criteria("barrier")["SO"], 1 - 0.5 * 7 / 8, delta=0.001)
        self.assertEqual(self.criteria("hierarchy")["SO"], 1)
        improve = {each["criterion"]: each["site"] for each in self.ranges["barrier"]["improve"]}
        self.assertRegex(improve["SO"], r"^bar\S* at .* of waiting")

    def test_one_block_is_on_one_multiprocessor(self):
        inputs = inputs_of(self.ranges["barrier"])
        share = 8 / 64 / int(inputs["#SM"])
        self.assertEqual(self.criteria("barrier")["OC"], share)
        self.assertAlmostEqual(self.criteria("barrier")["LB"], share, places=9)

    def test_copies_count_unless_they_overlap(self):
        self.assertEqual(self.criteria("copied")["DT"], 0.5)
        self.assertEqual(self.criteria("overlapped")["DT"], 1)
        self.assertEqual(self.criteria("overlapped/inner")["DT"], 1)
        self.assertEqual(self.criteria("divergence")["DT"], 1)
        self.assertIsNone(self.kernels["waiting"]["criteria"]["DT"])
        inputs = inputs_of(self.ranges["overlapped"])
        self.assertEqual(inputs["cuda_copy_size"], inputs["overlapping copies"])
        self.assertEqual(inputs["problem_size"], str(64 * 256 * 4))

    def test_rates_are_over_the_modelled_time(self):
        subject = self.ranges["hierarchy"]
        inputs = inputs_of(subject)
        multiprocessors = int(inputs["#SM"])
        seconds = subject["kernel_seconds"]
        # The stores stay in the L2.
        self.assertEqual((inputs["DRAM bytes"], subject["criteria"]["MC"]), ("0", 0))
        timing = json.loads((ROOT / "models/machines/compute_9_0.json").read_text())["timing"]
        self.assertEqual(multiprocessors, timing["multiprocessors"])
        bandwidth = 96 * timing["memory"]["bytes_per_cycle"] * timing["memory_mhz"] * 1e6
        for kernel in self.kernels.values():
            moved = int(inputs_of(kernel)["DRAM bytes"])
            self.assertAlmostEqual(kernel["criteria"]["MC"], moved / (kernel["kernel_seconds"] * bandwidth), places=9)
        busy = int(inputs["Int_instr"]) / (32 * timing["schedulers"]) / (timing["core_mhz"] * 1e6 * multiprocessors)
        self.assertAlmostEqual(subject["criteria"]["IO"], 1 - busy / seconds, places=9)

    def test_gaps_complement_the_quality(self):
        for subject in self.result["subjects"]:
            self.assertAlmostEqual(sum(each["gap"] for each in subject["improve"]), 1 - subject["quality"], places=9)

    def test_the_first_criterion_to_improve_is_withheld_at_chance(self):
        self.assertEqual(self.result["evidence"], {"source": "a device, 2026-11-30", "pairs": 20, "right": 18, "rank_correlation": 0.8, "low": 0.3, "high": 1})
        self.assertIsNone(self.result["improve_withheld"])
        with tempfile.TemporaryDirectory() as folder:
            for low, is_shown in ((0.3, True), (-0.1, False)):
                told = lynxpp("quality", "-d", "cpu", "--weights", weights_file(folder, low), "--", PROGRAM).stdout
                self.assertEqual("improve first\n" in told, is_shown, told)
                self.assertEqual("withheld: QM orders implementations no better than chance" in told, not is_shown)
                self.assertIn(f"rank correlation of QM with speed 0.80 (95 % interval {low:.2f} to 1.00): 18 of 20 pairs in order", told)
        papers = quality("--weights", "paper", "--", PROGRAM)
        self.assertEqual((papers["evidence"]["pairs"], papers["evidence"]["right"]), (19, 9))
        self.assertIn("chance", papers["improve_withheld"])
        self.assertEqual([each["improve"] for each in papers["subjects"]], [[]] * len(papers["subjects"]))

    def test_a_size_of_the_problem_may_be_given(self):
        ranges = subjects_of(quality("--problem-bytes", str(3 * 64 * 256 * 4), "--", PROGRAM))
        self.assertEqual(ranges["copied"]["criteria"]["DT"], 0.75)


    def test_times_come_from_the_clock(self):
        with tempfile.TemporaryDirectory() as folder:
            counters = pathlib.Path(folder, "counters.jsonl")
            subprocess.run([PROGRAM], check=True, capture_output=True, env={
                "PATH": "/usr/bin:/bin", **KEPT, "LD_PRELOAD": str(BUILD / "lib/liblynxpp.so"), "LYNXPP_DEVICE": "cpu", "LYNXPP_CPU_CLOCK": "compute_9_0",
                "LYNXPP_CPU_COUNTERS": str(counters)})
            launches = [json.loads(line) for line in counters.read_text().splitlines()]
        seconds = {launch["kernel"]: launch["modelled"]["seconds"] for launch in launches}
        moved = {launch["kernel"]: sum(launch["modelled"]["channels"]["bytes"]) for launch in launches}
        for name in ("one_lane", "near_memory", "waiting"):
            found = [value for kernel, value in seconds.items() if name in kernel]
            self.assertEqual(len(found), 1)
            self.assertAlmostEqual(self.kernels[name]["kernel_seconds"], found[0], places=12)
            of_memory = [value for kernel, value in moved.items() if name in kernel]
            self.assertEqual(inputs_of(self.kernels[name])["DRAM bytes"], str(of_memory[0]))

    def test_another_machine(self):
        result = quality("-m", "compute_1_3", "--", PROGRAM)
        self.assertEqual(result["device"], "compute_1_3")
        self.assertEqual(inputs_of(subjects_of(result)["barrier"])["#SM"], "30")


class Clocks(unittest.TestCase):
    """The specification that measures balance and stalls on a GPU, here under a modelled clock."""

    def test_warps_and_waits_by_clocks(self):
        text = (ROOT / "cli/quality/barrier_waits.h").read_text().split('R"(')[1].split(')"')[0]
        with tempfile.TemporaryDirectory() as folder:
            specification, records = pathlib.Path(folder, "barrier_waits.cod"), pathlib.Path(folder, "records.jsonl")
            specification.write_text(text)
            outcome = lynxpp("run", "-s", specification, "-d", "cpu", "--per-launch", "-o", records, "--", PROGRAM, LYNXPP_CPU_CLOCK="compute_9_0")
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            report = lynxpp("report", records, "--format", "json")
        kernels = {each["demangled"].split("(")[0]: each["results"] for each in json.loads(report.stdout)["specifications"][0]["kernels"]}
        value = lambda kernel, name: kernels[kernel][name]["value"]  # noqa: E731
        # Seven of eight warps of the only block wait; it is on one of 132 multiprocessors.
        self.assertAlmostEqual(value("waiting", "stalled"), 7 / 8, delta=0.005)
        self.assertAlmostEqual(value("waiting", "average_warps_per_sm"), 8 / 132, delta=0.002)
        self.assertEqual(value("one_lane", "stalled"), 0)


class Ranges(unittest.TestCase):
    def test_functions_and_the_variable_are_ranges_too(self):
        names = subjects_of(quality("--function", "main", "--", PROGRAM, LYNXPP_RANGE="all of it"))
        self.assertIn("main()/all of it/overlapped/inner", names)

    def test_one_range_and_its_contents(self):
        result = quality("--range", "overlapped", "--", PROGRAM)
        self.assertEqual(list(subjects_of(result)), ["overlapped", "overlapped/inner"])
        self.assertEqual(len(result["subjects"]), 2)

    def test_a_range_that_is_not_entered_is_named(self):
        outcome = lynxpp("quality", "--range", "divergenze", "-d", "cpu", "--", PROGRAM)
        self.assertEqual(outcome.returncode, 3)
        self.assertIn("no kernel was launched in a range 'divergenze'", outcome.stderr)
        self.assertIn("did you mean 'divergence'?", outcome.stderr)

    def test_ranges_are_in_records_and_the_table(self):
        outcome = lynxpp("run", "-s", "instruction_count", "-d", "cpu", "-o", "/dev/stdout", "--", PROGRAM)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        records = [json.loads(line) for line in outcome.stdout.splitlines() if line.startswith('{"record":')]
        self.assertIn(["overlapped", "inner"], [record.get("ranges") for record in records])
        self.assertIn("overlapped/inner", outcome.stderr)

    def test_reports_a_program_without_kernels(self):
        outcome = lynxpp("quality", "--", "/bin/true")
        self.assertEqual(outcome.returncode, 3)
        self.assertIn("the program launched no kernel", outcome.stderr)


class Primitives(unittest.TestCase):
    def test_reductions_and_scans_by_every_implementation(self):
        names = {"reduction": 4, "inclusive_scan": 6}
        ranges = subjects_of(quality("--", PRIMITIVES, "20000", *names))
        for name, number in names.items():
            own = {path: each for path, each in ranges.items() if path.count("/") == 1 and path.startswith(name)}
            self.assertEqual(len(own), number, list(ranges))
            for path, each in own.items():
                # As in the paper's Figure 2.
                self.assertGreater(each["criteria"]["WE"], 0.8, path)
                for symbol, value in each["criteria"].items():
                    self.assertIsNotNone(value, f"{path} {symbol}")


    def test_our_implementations_equal_the_reference(self):
        """Those of libraries compile slowly on the cpu device; Thrust's and CUB's own tests cover them."""
        listed = lynxpp("run", "-d", "cpu", "--", PRIMITIVES, "list").stdout.split()
        self.assertGreaterEqual(len(listed), 60, "a fit of weights needs many implementations")
        own = [name for name in listed if name.split("/")[1] not in ("cub", "thrust")]
        self.assertGreaterEqual(len(own), 35)
        for size in ("257", "20000"):
            outcome = lynxpp("run", "-d", "cpu", "--", PRIMITIVES, size, *own)
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            self.assertIn(f"primitives: ok, {len(own)} runs of {size} values", outcome.stdout)


class Fit(unittest.TestCase):
    """Weights fitted to the modelled device are kept and used the next time."""

    def test_weights_are_kept_and_used(self):
        with tempfile.TemporaryDirectory() as folder:
            outcome = lynxpp("quality", "-d", "cpu", "--fit", "--", IMPLEMENTATIONS, XDG_DATA_HOME=folder)
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            file = pathlib.Path(folder, "lynxpp/weights/compute_9_0.json")
            self.assertIn(f"stored in {file}", outcome.stdout)
            stored = json.loads(file.read_text())
            jsonschema.Draft202012Validator(WEIGHTS_SCHEMA).validate(stored)
            jsonschema.Draft202012Validator(WEIGHTS_SCHEMA).validate(json.loads((ROOT / "examples/calibrations/h100-weights.json").read_text()))
            self.assertTrue(stored["modelled"])
            self.assertEqual((stored["fit"]["primitives"], stored["fit"]["implementations"]), (4, 20))
            self.assertAlmostEqual(sum(stored["weights"].values()), 405)
            self.assertLessEqual(stored["fit"]["validated_r_squared"], stored["fit"]["r_squared"])
            used = quality("--", PROGRAM, XDG_DATA_HOME=folder)["weights"]
            self.assertEqual(used, {"source": stored["source"], "weights": stored["weights"]})
            papers = quality("--weights", "paper", "--", PROGRAM, XDG_DATA_HOME=folder)["weights"]
            self.assertEqual(papers["weights"]["OC"], 30)
            # Another machine has no weights of its own.
            other = quality("-m", "compute_1_3", "--", PROGRAM, XDG_DATA_HOME=folder)["weights"]
            self.assertEqual(other, papers)
            file.write_text(file.read_text().replace('"lynxpp_weights": 2', '"lynxpp_weights": 99'))
            outcome = lynxpp("quality", "-d", "cpu", "--", PROGRAM, XDG_DATA_HOME=folder)
            self.assertEqual(outcome.returncode, 1)
            self.assertIn("have version 99; this lynxpp reads version 2", outcome.stderr)

    def test_a_program_without_primitives(self):
        outcome = lynxpp("quality", "-d", "cpu", "--fit", "--", PROGRAM, XDG_DATA_HOME="/nowhere")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("too few implementations to fit weights to", outcome.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
