"""Tests scripts/gpu-check without a GPU: its parts on the cpu device, over a package of links into the build
folder, and its reader of profiles.

usage: gpu_check_test.py BUILD_FOLDER
"""
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts" / "gpu"))
import calibrate  # noqa: E402
import checks  # noqa: E402
import cumapz  # noqa: E402
import gmprof  # noqa: E402
import overhead  # noqa: E402
import package  # noqa: E402
import profiler  # noqa: E402
from common import Build, Findings, Package  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop()).resolve()
SPECS = ["instruction_count", "basic_block_count"]


def make_package(folder):
    """Links to vecadd on the cpu device and to everything that the parts need."""
    folder = pathlib.Path(folder)
    for name in ("bin", "lib", "examples"):
        (folder / name).symlink_to(BUILD / name)
    (folder / "share" / "lynxpp").mkdir(parents=True)
    (folder / "share" / "lynxpp" / "advise").symlink_to(ROOT / "examples" / "advise")
    specs = folder / "share" / "lynxpp" / "specs"
    specs.mkdir(parents=True)
    for spec in SPECS:
        (specs / f"{spec}.cod").symlink_to(ROOT / "examples" / "specs" / f"{spec}.cod")
    expected = {"version": "0", "commit": "0", "apps": {"vecadd": package.what_cpu_says(Build(BUILD), "vecadd", SPECS)}}
    (folder / "expected.json").write_text(json.dumps(expected))
    return Package(folder, "cpu")


class Lines(unittest.TestCase):
    def test_errors_of_the_lines(self):
        found = [{"ms": 10, "best_ms": 8, "worst_ms": 16, "degree": 0.25}, {"ms": 5, "best_ms": 5, "worst_ms": 9, "degree": 0}]
        best, line = calibrate.line_errors(found)
        self.assertEqual(best, [0.2, 0])
        self.assertEqual(line, [0.2, 0.2])  # 5 + 0.25 * 4 = 6 instead of 5; 8 instead of 10
        self.assertAlmostEqual(calibrate.geometric_mean([0.1, 0.4]), 0.2)

    def test_files_are_kept_beside_the_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            findings = Findings("calibrate", "about")
            findings.files["calibration.json"] = "{}"
            findings.write(pathlib.Path(folder, "out"), "a machine")
            self.assertEqual(pathlib.Path(folder, "out", "calibration.json").read_text(), "{}")


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.package = make_package(self.folder.name)

    def good(self, part):
        findings = part(self.package, ["vecadd"], 60)
        self.assertEqual(findings.failures, [])
        out = pathlib.Path(self.folder.name, "out")
        findings.write(out, "a machine")
        self.assertEqual(json.loads((out / f"{findings.part}.json").read_text())["failures"], [])
        return (out / f"{findings.part}.md").read_text()

    def test_identity(self):
        self.assertIn("3 of 3 instrumented runs", self.good(checks.identity))

    def test_counts(self):
        text = self.good(checks.counts)
        self.assertRegex(text, r"\| instruction_count \| (\d+) \| \1 \|")

    def test_conformance_has_random_functions(self):
        if not (BUILD / "bin" / "cod_differential_test").exists():
            self.skipTest("cod_differential_test is not built")
        package.RANDOM_FUNCTIONS = 80
        package.export_functions(BUILD, self.package.folder)
        self.assertIn("80 random functions computed what C computes", self.good(checks.conformance))

    def test_attach(self):
        text = self.good(checks.attach)
        self.assertIn("then instruction_count, kernel_runtime", text)
        self.assertRegex(text, "[1-9] launches of 1 programs: blocks and warps timed once")

    def test_block_times_that_contradict_each_other(self):
        def wrong(cycles=(900, 800), sms=(0, 1), load=(900, 800), begins=(0, 100), ends=(1000, 900), warps=(0, 1)):
            results = {"block_runtime": {"cycles": {"values": cycles}, "sm": {"values": sms}},
                       "kernel_runtime": {"load": {"values": load}, "distribution": {"values": [0] * 9 + [2]}},
                       "warp_timeline": {"warps.warp": {"values": warps}, "warps.sm": {"values": sms},
                                         "warps.begin": {"values": begins}, "warps.end": {"values": ends}}}
            specs = {spec: {"results": each, "grid": [2, 1, 1], "block": [32, 1, 1], "demangled": "k"} for spec, each in results.items()}
            return checks.wrong_block_times(specs, 1_000_000)
        self.assertEqual(wrong(), [])
        self.assertEqual(wrong(cycles=(900,)), ["blocks of k"])
        self.assertEqual(wrong(cycles=(900, 0)), ["order of k"])
        self.assertEqual(wrong(begins=(0, 901)), ["order of k"])
        self.assertEqual(wrong(warps=(1, 1)), ["warps of k"])
        self.assertEqual(wrong(sms=(0, 2)), ["multiprocessors of k"])
        self.assertEqual(wrong(cycles=(900, 3001)), ["time of k"])
        self.assertEqual(wrong(load=(96001, 800)), ["time of k"])

    def test_overhead(self):
        text = self.good(lambda *arguments: overhead.overhead(*arguments, rounds=1))
        self.assertIn("| vecadd | vecadd |", text)
        self.assertIn("Phases of a run", text)

    def test_cumapz_makes_the_described_accesses(self):
        text = self.good(cumapz.cumapz)
        self.assertIn("40 variants of 8 benchmarks ran, with 0 differences", text)
        self.assertIn("## laplace, N=64", text)

    def test_cumapz_correlates_with_the_times_of_a_gpu(self):
        times = {"step=0": 4.0, "step=1": 3.0, "step=2": 1.0, "step=3": 1.0, "step=4": 3.0}

        def run(program, step, size, preload, environment):
            self.assertEqual((program.parent.name, size, preload), ("static", "N=8192", False))
            outcome = type("Outcome", (), {})()
            outcome.status, outcome.stderr = 0, f"kernel_ms other 9\nkernel_ms transpose {times[step]} {0.99 * times[step]} {1.01 * times[step]}\n"
            return outcome

        findings = cumapz.Findings("cumapz", "")
        benchmarks = cumapz.Benchmarks(self.package.build, "cuda", findings, run=run)
        benchmarks.benchmark("transpose")
        benchmarks.summary(1)
        self.assertEqual(findings.failures, [])
        self.assertRegex(findings.lines[0], r"^transpose: fastest step=[23] 1[.]0000 ms, slowest over fastest 4[.]000; .*estimate: Pearson 0[.]99\d, Spearman 1[.]000, "
                                            r"best step=[23] 1[.]0000 ms [(]within 5%[)]; modelled time: Pearson 0[.]9.*; widest quartiles 1[.]020$")
        self.assertIn("goal 0.96, met", "\n".join(findings.lines[-3:]))
        self.assertEqual(len(findings.tables[0][2]), 5)
        benchmarks.benchmark("transpose", until=0)
        self.assertEqual(len(findings.failures), 5, "no time measured")

    def test_cumapz_finds_other_accesses(self):
        findings = cumapz.Findings("cumapz", "")
        benchmarks = cumapz.Benchmarks(self.package.build, "cpu", findings)
        (variant,) = cumapz.advice(self.package.build, cumapz.descriptions(self.package.build), "transpose", cumapz.MACHINE, N=128, step=2)
        benchmarks.measured("transpose", ["step=1", "N=128"], variant)
        self.assertEqual(len(findings.failures), 1)
        self.assertIn("16384 shared load wavefronts, described are 512", findings.failures[0])

    def test_held_out_kernels_are_judged_where_their_variants_differ(self):
        def run(program, *arguments, preload, environment=None):
            outcome = type("Outcome", (), {})()
            outcome.status, outcome.stdout, outcome.stderr = 0, b"", ""
            values = dict(each.split("=") for each in map(str, arguments) if "=" in each)
            number, variant = int(values["benchmark"]), int(values["variant"])
            if environment:  # 2DCONV differs by 4 %, the others by a factor of 2 or 1.75
                outcome.stderr = f"kernel_ms held_out {1 + variant / (100 if number == 0 else 4)} 1 2\n"
            else:
                bounds = {"microseconds": 1000 * (1 + variant / 4), "by": "l1", "busy": {}}
                outcome.stdout = json.dumps({"bounds": bounds, "modelled": {"estimate": 1}, "references": [], "blocks_observed": 1, "grid": [1]}).encode() + b"\n"
            return outcome

        findings = cumapz.Findings("cumapz", "")
        benchmarks = cumapz.Benchmarks(self.package.build, "cuda", findings, run=run)
        cumapz.held_out.held_out(benchmarks, float("inf"), cumapz.milliseconds, cumapz.pearson, cumapz.spearman)
        self.assertEqual(findings.failures, [])
        self.assertEqual(findings.lines[0], "held out, 2DCONV: the variants differ by 4.0 % only")
        self.assertIn("held out, time: mean correlation of 7 benchmarks 1.000", findings.lines)
        self.assertEqual(len(findings.tables[0][2]), 39)
        cumapz.held_out.held_out(benchmarks, 0, cumapz.milliseconds, cumapz.pearson, cumapz.spearman)
        self.assertEqual(len(findings.failures), 39, "no time was left")

    def test_gmprof_times_every_scheme(self):
        text = self.good(lambda package, _, budget: gmprof.gmprof(package, ["spmv"], budget, rounds=1))
        for profile, schemes in gmprof.SCHEMES.items():
            self.assertIn(f"{profile}: native microseconds", text)
            timed = [column for column in gmprof.TIMED if column in schemes]
            self.assertRegex(text, r"\| spmv \| spmv_[a-z_]+ \|" + r" [\d.]+ \|" * (1 + len(timed)))

    def test_overheads_of_several_runs_make_one_table(self):
        entry = {"kernel": "k", "native_ms": 1, "resources": {}}
        files = []
        for name, programs in (("a", {"x": 2, "y": 4}), ("b", {"y": 8})):
            kernels = [{**entry, "program": program, "ratios": {"instruction_count": [ratio] * 3}} for program, ratio in programs.items()]
            files.append(pathlib.Path(self.folder.name, name))
            files[-1].write_text(json.dumps({"machine": "m", "failures": [], "data": {"kernels": kernels, "phases": {}, "specs": SPECS[:1], "device": "cuda"}}))
        findings, machine = overhead.merged(files)
        self.assertEqual(machine, "m")
        self.assertEqual(findings.lines, ["instruction_count: 4.000 (goal 1.030, MISSED), worst 8.000 in y: k, 2 kernels"])

    def test_wrong_counts_are_a_failure_for_threads_and_a_row_for_warps(self):
        for name, failures in (("thread_instructions", 1), ("warp_instructions", 0)):
            results = self.package.expected["apps"]["vecadd"]["results"]["instruction_count"][0]["results"]
            results[name] += 1
            findings = checks.counts(self.package, ["vecadd"], 60)
            self.assertEqual(len(findings.failures), failures, findings.failures)
            self.assertIn(name, str(findings.tables[1]))
            results[name] -= 1

    def test_a_program_that_prints_something_else_fails(self):
        self.package.expected["apps"]["vecadd"]["stdout"] = "another result"
        self.assertEqual(len(checks.identity(self.package, ["vecadd"], 60).failures), 1)


PROFILE = """vecadd: ok
==PROF== Connected to process 1
"ID","Process ID","Kernel Name","Context","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed_op_branch.sum"
"","","","","sector","inst"
"0","1","_Z6vecaddPKfS0_Pfi","1","1,250","n/a"
"1","1","_Z6vecaddPKfS0_Pfi","1","25","7"
"""


class Correlation(unittest.TestCase):
    def test_is_pearsons_and_spearmans(self):
        self.assertAlmostEqual(cumapz.pearson([1, 2, 3], [2, 4, 6]), 1)
        self.assertAlmostEqual(cumapz.pearson([1, 2, 3, 4], [1, 3, 2, 5]), 5.5 / (5 * 8.75) ** 0.5)
        self.assertIsNone(cumapz.pearson([1, 1], [1, 2]))
        self.assertEqual(cumapz.ranks([5, 1, 5, 9]), [2.5, 1, 2.5, 4])
        self.assertAlmostEqual(cumapz.spearman([1, 2, 3], [1, 10, 1000]), 1)

    def test_the_best_by_estimate_is_compared_with_the_fastest(self):
        findings = cumapz.Findings("cumapz", "")
        benchmarks = cumapz.Benchmarks(None, "cuda", findings, run=self.fail)
        def times(milliseconds):
            return cumapz.Times([(milliseconds, 0.99 * milliseconds, milliseconds), (9 * milliseconds,) * 3, (milliseconds / 9,) * 3])

        rows = [({"choices": {"step": step}, "modelled": {"estimate": estimate}, "bounds": {"microseconds": modelled}, "global_accesses": 10},
                 times(milliseconds))
                for step, estimate, modelled, milliseconds in ((1, 3.0, 1000, 1.04), (2, 2.0, 900, 1.0), (3, 1.0, 4000, 4.0))]
        benchmarks.compare("x", rows)
        self.assertIn("x: fastest step=2 1.0000 ms, slowest over fastest 4.000", findings.lines[0])
        self.assertIn("best step=1 1.0400 ms (within 5%)", findings.lines[0])
        self.assertIn("modelled time: Pearson 0.", findings.lines[0])
        self.assertIn("best step=2 1.0000 ms (within 5%)", findings.lines[0])
        self.assertNotIn("says little", findings.lines[0])
        rows[0] = (rows[0][0], times(1.06))
        benchmarks.compare("x", rows)
        self.assertIn("best step=1 1.0600 ms (NOT within 5%)", findings.lines[1])
        # Among several with the best estimate, the first counts.
        first = dict(rows[1][0], choices={"step": 7})
        benchmarks.compare("x", [(first, times(1.2)), (dict(rows[1][0]), times(1.0))])
        self.assertIn("best step=7 1.2000 ms (NOT within 5%)", findings.lines[2])
        benchmarks.compare("x", [rows[1], (rows[2][0], times(1.03))])
        self.assertIn("a correlation says little", findings.lines[3])
        benchmarks.correlations = {"estimate": [(0.5, False), (-1.0, True)], "modelled time": [(0.97, False), (None, True)]}
        benchmarks.ratios = [0.5, 2.0]
        benchmarks.summary(2)
        self.assertIn("estimate: mean Pearson of 2 benchmarks -0.250 (goal 0.96, MISSED), of the 1 whose variants differ by more than 5% 0.500", findings.lines[-3])
        self.assertIn("modelled time: mean Pearson of 1 benchmarks 0.970 (goal 0.96, met)", findings.lines[-2])
        self.assertIn("of 2 variants: geometric mean 1.000, 0.500 to 2.000", findings.lines[-1])


class Profile(unittest.TestCase):
    def test_is_read_launch_by_launch(self):
        launches = profiler.read_profile(PROFILE)["_Z6vecaddPKfS0_Pfi"]
        sectors = [launch["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] for launch in launches]
        branches = [launch["smsp__inst_executed_op_branch.sum"] for launch in launches]
        self.assertEqual((sectors, branches), ([1250, 25], [None, 7]))

    def test_without_a_table_is_empty(self):
        self.assertEqual(profiler.read_profile("==ERROR== no permission\n"), {})

    def test_reasons_name_what_the_assembler_did(self):
        static = {"global loads": [4, 1], "global stores": [1, 1], "branches": [3, 6]}
        self.assertEqual(profiler.reason("global load sectors", static, 8, 8), "")
        self.assertIn("4 instructions in the PTX, 1", profiler.reason("global load requests", static, 8, 32))
        self.assertIn("equally many", profiler.reason("global store requests", static, 8, 9))
        self.assertIn("3 branches in the PTX, 6", profiler.reason("branches", static, 8, 9))
        bulk = {"global loads": [4, 4], "bulk copies": [2, 2]}
        self.assertIn("2 bulk copies in the PTX, which these counters", profiler.reason("global load sectors", bulk, 0, 12))

    def test_comparison_has_the_common_counts(self):
        comparison = profiler.Comparison()
        profiled = {"k": [{metric: 48.0 for metrics, *_ in profiler.QUANTITIES.values() for metric in metrics}] * 2}
        records = type("Records", (), {"launches": [{"kernel": "k", "spec": "memory_efficiency", "results": {"load_requests": 96, "load_sectors": 100}}]})
        comparison.add("app", profiled, records, [], {})
        self.assertEqual([row[2:5] + row[6:7] for row in comparison.rows],
                         [["global load requests", "96", "96", "equal"], ["global load sectors", "96", "100", "+4.17 %"]])

    def test_sums_over_launches_need_every_result(self):
        self.assertEqual(profiler.of_cpu([{"a": {"b": 2}}, {"a": {"b": 3}}], ["a", "b"]), 5)
        self.assertIsNone(profiler.of_cpu([{"a": {"b": 2}}, {}], ["a", "b"]))


if __name__ == "__main__":
    if not (BUILD / "examples" / "vecadd").exists():
        print("SKIP: the example programs were not built (no nvcc when the build was configured)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
