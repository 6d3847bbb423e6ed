"""The pairs of kernels in examples/limits, on the cpu device: `slow` and `mended` have the same result, each program
says so itself and exits with 1 if they differ; the table's lines are those marked in the sources; and the summary
of scripts/gpu/limits_pairs.py.

usage: limits_pairs_test.py BUILD_FOLDER
"""
import csv
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts" / "gpu"))
import limits_pairs  # noqa: E402
from common import Build  # noqa: E402

BUILD = Build(pathlib.Path(sys.argv.pop()))
SOURCES = ROOT / "examples" / "limits"
PAIRS = limits_pairs.read_table(SOURCES / "pairs.csv")


def checksum(run):
    return re.search(rb"ok, checksum (0x[0-9a-f]{16})$", run.stdout.strip()).group(1)


class Table(unittest.TestCase):
    def test_lines_are_marked_in_the_sources(self):
        for pair in PAIRS:
            source = (SOURCES / f"{pair.program}.cu").read_text().splitlines()
            self.assertEqual(pair.lines, [number for number, line in enumerate(source, 1) if line.endswith("// fault")], pair.program)

    def test_every_source_is_listed_with_an_operation(self):
        self.assertEqual(sorted(pair.program for pair in PAIRS), sorted(path.stem for path in SOURCES.glob("*.cu")))
        self.assertEqual({each for pair in PAIRS for each in pair.operation.split()} - limits_pairs.OPERATIONS, set())
        self.assertEqual({pair.mending for pair in PAIRS}, set(limits_pairs.MENDINGS))

    def test_enough_pairs(self):
        self.assertGreaterEqual(len(PAIRS), 26)
        self.assertGreaterEqual(sum(not pair.gains for pair in PAIRS), 6)


class Programs(unittest.TestCase):
    def test_slow_and_mended_agree(self):
        for pair in PAIRS:
            with self.subTest(pair.program):
                run = BUILD.run(BUILD.examples / "limits" / pair.program, "both", 1, pair.cpu_size)
                self.assertEqual(run.status, 0, str(run))
                self.assertRegex(run.stderr, r"slow_ms [\d.]+ [\d.]+ [\d.]+\nmended_ms ")

    def test_a_mode_runs_only_its_kernel(self):
        program = BUILD.examples / "limits" / "row_sums"
        sums = set()
        for mode in ("slow", "mended"):
            run, launches = BUILD.count(program, mode, 3, 2)
            self.assertEqual(run.status, 0, str(run))
            self.assertEqual([launch["kernel"] for launch in launches], [f"_Z{len(mode)}{mode}PKjPj"] * 3)
            sums.add(checksum(run))
        self.assertEqual(len(sums), 1)

    def test_the_number_of_launches_does_not_change_a_sum(self):
        for pair in PAIRS:
            if pair.program in ("global_sum", "skewed_histogram", "sub_histograms", "gather", "atomics_hidden"):
                runs = [BUILD.run(BUILD.examples / "limits" / pair.program, mode, launches, pair.cpu_size)
                        for mode, launches in (("slow", 1), ("slow", 3), ("mended", 2), ("both", 1))]
                self.assertEqual(len({checksum(run) for run in runs}), 1, pair.program)

    def test_wrong_arguments(self):
        for arguments in (["slow"], ["quick", 1], ["slow", 0], ["slow", 1, "many"]):
            run = BUILD.run(BUILD.examples / "limits" / "row_sums", *arguments)
            self.assertEqual(run.status, 2, str(run))
            self.assertIn("slow|mended|both LAUNCHES", run.stderr)


def limit(operation, at_most, lines=(), locations=()):
    def where(number):
        return {"file": "row_sums.cu", "line": number, "ptx_line": 1, "opcodes": []}
    return {"operation": operation, "at_most": at_most, "low": at_most, "high": at_most, "cost": at_most, "registers": [], "notes": [],
            "pattern": {"at_most": at_most / 2} if operation.endswith("-access") else None,
            "reuse": {"at_most": at_most / 4} if operation == "global-access" else None,
            "locations": [where(number) for number in locations],
            "lines": [{"at_most": at_most, "locations": [where(number)]} for number in lines]}


class Answers(unittest.TestCase):
    pair = limits_pairs.Pair("row_sums", "", "removed", "shared-access", [18], True, 3, False)

    def prediction(self, limits, operation="shared-access", mending="removed"):
        kernel = {"timed": 9, "native_ms": 0.1, "launches": 9, "limits": limits, "waves": {"idle": 0.25},
                  "untried": [{"operation": "barrier", "reason": "a variant fails"}]}
        return limits_pairs.prediction_of(self.pair._replace(operation=operation, mending=mending), {"kernels": [kernel]})

    def test_the_own_class_and_the_greatest(self):
        found = self.prediction([limit("global-access", 0.7), limit("shared-access", 0.4, lines=[18, 12])])
        self.assertEqual((found["predicted"], found["top"], found["top_gain"]), (0.4, "global-access", 0.7))
        self.assertEqual((found["line_right"], found["line"]), (True, "row_sums.cu:18"))

    def test_the_figure_is_that_for_the_kind_of_mending(self):
        limits = [limit("shared-access", 0.4), limit("global-access", 0.8), limit("waiting", 0.5), limit("divergence", 0.3), limit("fp32", 0.2),
                  limit("fetch", 0.1), limit("occupancy", 0.7), limit("fewer-registers", 0.05), limit("more-registers", 0.6)]
        for mending, operation, expected in (("pattern", "global-access shared-access", 0.6), ("removed", "global-access shared-access", 1),
                                             ("removed", "arithmetic", 0.3), ("reuse", "global-access", 0.2),
                                             ("independent", "fp32", 0.7), ("divergence", "divergence", 0.3), ("registers", "registers", 0.6),
                                             ("occupancy", "occupancy", 0.7), ("launch", "launch", 0.25)):
            self.assertAlmostEqual(self.prediction(limits, operation, mending)["predicted"], expected, msg=mending)
        self.assertEqual(self.prediction(limits)["top"], "global-access")
        self.assertEqual(self.prediction([limit("waiting", 0.9), limit("fp32", 0.2)])["top"], "fp32", "a rest is no class")

    def test_lines(self):
        self.assertIs(self.prediction([limit("shared-access", 0.4, lines=[12, 18])])["line_right"], False)
        self.assertIs(self.prediction([limit("shared-access", 0.4, locations=[18])])["line_right"], True)
        self.assertIs(self.prediction([limit("shared-access", 0.4, locations=[12, 18])])["line_right"], False)
        self.assertIs(self.prediction([limit("shared-access", 0.4)])["line_right"], None)

    def test_classes_that_were_not_tried(self):
        found = self.prediction([], "barrier")
        self.assertEqual((found["predicted"], found["note"]), (0, "barrier was not tried: a variant fails"))
        self.assertEqual(self.prediction([], "launch", "launch")["predicted"], 0.25)
        with self.assertRaises(limits_pairs.TestFailure):
            limits_pairs.prediction_of(self.pair, {"kernels": []})

    def test_the_estimate_of_the_own_class(self):
        place = {"file": "row_sums.cu", "line": 18}
        listed = [{"rule": "divergent branch", "benefit": 0.9, "place": place}, {"rule": "low occupancy"},
                  {"rule": "bank conflicts", "benefit": 0.3, "place": {"file": "row_sums.cu", "line": 2}},
                  {"rule": "scattered bank conflicts", "benefit": 0.5, "place": place}]
        found = limits_pairs.estimate_of(self.pair, {"findings": {"list": listed}})
        self.assertEqual((found["estimated"], found["estimate_line_right"], found["first_finding"]), (0.5, True, "divergent branch"))
        self.assertEqual(limits_pairs.estimate_of(self.pair, {"findings": {"list": []}})["estimated"], 0)


class Summary(unittest.TestCase):
    def test_counts_of_bounds_and_false_gains(self):
        rows = [{"program": "a", "true": 0.5, "predicted": 0.6, "line_right": True},
                {"program": "b", "true": 0.2, "predicted": 0.1, "line_right": False},
                {"program": "c", "true": 0.0, "predicted": 0.2, "line_right": True},
                {"program": "d", "true": 0.001, "predicted": 0.02, "line_right": None},
                {"program": "e", "true": 0.4, "predicted": None, "line_right": None}]
        found = limits_pairs.judge(rows, "predicted", "line_right")
        self.assertEqual(found["pairs"], 4)
        self.assertEqual(found["bounded"], ["a"])
        self.assertEqual(found["not_bounded"], ["b"])
        self.assertEqual(found["false_gains"], ["c"])
        self.assertEqual(found["lines_right"], ["a"])
        self.assertEqual(found["lines_wrong"], ["b"])
        self.assertAlmostEqual(found["spearman"], 0.4)
        text = limits_pairs.sentences("limits", rows, found, "predicted")
        self.assertIn("correlation with the true gain 0.400: missed, the goal is at least 0.9", text[0])
        self.assertIn("in 1 of 2 pairs that gain 1% or more; b (true 20.0 %, predicted 10.0 %)", text[1])
        self.assertIn("below 3% in 1 of 2 pairs that gain less than 1%; c (true 0.0 %, predicted 20.0 %)", text[2])


class RangesOfEstimates(unittest.TestCase):
    def test_the_measured_gain_is_in_the_range_of_most_estimates(self):
        """The pairs of docs/findings.md#how-good-estimates-are; the factor is that of report/findings/findings.cpp."""
        source = (ROOT / "report" / "findings" / "findings.cpp").read_text()
        factor = float(re.search(r"constexpr double factor = (\d+);", source)[1])

        def odds(share):
            return share / (1 - share)

        with open(ROOT / "docs" / "measurements" / "data" / "limits-pairs-h200-first.csv", newline="") as file:
            pairs = [(float(row["estimated"]), float(row["true"])) for row in csv.DictReader(file)
                     if float(row["estimated"] or 0) > 0 and row["estimate_rule"] not in ("small grid", "tail of the grid")]
        pairs += [(.988, .978), (.83, .926), (.36, .426), (.185, .228), (.622, .554), (.519, .705)]  # first-findings.md
        inside = sum(odds(estimate) / factor <= odds(gain) <= odds(estimate) * factor for estimate, gain in pairs)
        self.assertEqual((inside, len(pairs)), (26, 30))


if __name__ == "__main__":
    missing = [pair.program for pair in PAIRS if not (BUILD.examples / "limits" / pair.program).exists()]
    if missing:
        print(f"skipped: {missing[0]} and {len(missing) - 1} other programs of examples/limits are not built")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)
