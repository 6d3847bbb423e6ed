"""Checks the report's advice for GMProf's six kernels after both profiles against the paper's conclusions
(sections 6.4 and 7).

usage: advice_test.py BUILD_FOLDER
"""
import json
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import schema  # noqa: E402
from harness import Build, read_json_lines  # noqa: E402

BUILD = Build(sys.argv.pop())
BOTH = "shared_memory_profile,device_memory_profile"


class Profiled:
    """A program's records with both profiles, and all output derived from them."""

    def __init__(self, program, spec=BOTH, words=""):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            self.run_ = BUILD.run(BUILD.examples / program, spec=spec, environment={"LYNXPP_OUTPUT": str(output), "COLUMNS": "100", "LYNXPP_WORDS": words})
            self.records = read_json_lines(output)
            self.json = json.loads(self.report(output, "json"))
            self.html = self.report(output, "plain-html")
            self.table = self.report(output, "table")
        self.advice = {each["demangled"].split("(")[0]: each for each in self.json["advice"]}

    @staticmethod
    def report(output, format_):
        run = BUILD.run(BUILD.command, "report", output, "--format", format_, preload=False, environment={"COLUMNS": "100"})
        assert (run.status, run.stderr) == (0, ""), run
        return run.stdout.decode()

    def results(self, kernel, space, launch):
        return next(record["results"] for record in self.records if record["record"] == "launch" and record["launch"] == launch and
                    record["demangled"].split("(")[0] == kernel and record["spec"] == f"{space}_memory_profile")


class Advice(unittest.TestCase):
    profiled = {}

    def of(self, program):
        if program not in self.profiled:
            self.profiled[program] = Profiled(program)
        return self.profiled[program]

    def staging(self, program, kernel):
        return self.of(program).advice[kernel]["staging"]

    def advised(self, program, kernel, what):
        return {each["array"].split()[0] for each in self.staging(program, kernel)["arrays"] if each["advised"] == what}

    def hottest(self, program, kernel, many):
        """The device arrays with the highest mean counts, according to the records."""
        profiled = self.of(program)
        results = profiled.results(kernel, "device", profiled.advice[kernel]["launch"])
        rows = sorted(zip(results["arrays.mean"]["values"], results["arrays.words"]["labels"]), reverse=True)
        return {label.split()[0] for _, label in rows[:many]}

    def test_em_stages_the_two_hottest_arrays_despite_the_confidence(self):
        self.assertEqual(self.advised("em", "em_v1", "stage"), self.hottest("em", "em_v1", 2))
        self.assertEqual(self.advised("em", "em_v1", "give way"), {"confidence"})
        self.assertEqual(self.advised("em", "em_v1", "keep"), {"chunk", "responsibilities", "offsets"})
        staging = self.staging("em", "em_v1")
        self.assertEqual((staging["shared_bytes_now"], staging["shared_bytes_then"], staging["capacity"]), (12832, 13344, 13568))
        self.assertEqual(staging["occupancy_then"], staging["occupancy_now"])
        self.assertEqual(staging["occupancy_now"], {"blocks": 16, "warps": 64, "most_warps": 64})

    def test_the_advice_for_em_is_its_second_version(self):
        staging = self.staging("em", "em_v2")
        self.assertEqual(staging["shared_bytes_now"], self.staging("em", "em_v1")["shared_bytes_then"])
        self.assertTrue(staging["is_well_used"], staging)
        self.assertEqual(self.advised("em", "em_v2", "keep"), {"chunk", "responsibilities", "offsets", "means", "inverse_variances"})

    def test_binomial_stages_both_levels_divided_among_blocks(self):
        self.assertEqual(self.advised("binomial", "binomial_v1", "stage"), self.hottest("binomial", "binomial_v1", 2))
        staged = [each for each in self.staging("binomial", "binomial_v1")["arrays"] if each["advised"] == "stage"]
        self.assertEqual([(each["bytes"], each["held"]) for each in staged], [(369 * 4, "part"), (368 * 4, "part")])
        self.assertTrue(self.staging("binomial", "binomial_v2")["is_well_used"])

    def test_the_others_use_shared_memory_well(self):
        for program, kernel in (("cocluster", "cocluster_assign"), ("cocluster", "cocluster_sums"), ("spmv", "spmv_shared"),
                                ("dxtc", "dxtc_compress")):
            staging = self.staging(program, kernel)
            self.assertEqual(staging["summary"], "Shared memory is well used", kernel)
            self.assertEqual({each["advised"] for each in staging["arrays"]}, {"keep", "leave"}, kernel)

    def test_live_ranges_show_that_a_tile_is_used_once(self):
        """GMProf's section 7.3: only the counts of live ranges show that version 1 reuses nothing."""
        self.assertEqual(self.advised("jacobi", "jacobi_v1", "drop"), {"results"})
        reason = next(each["reason"] for each in self.staging("jacobi", "jacobi_v1")["arrays"] if each["array"] == "results")
        self.assertIn("2 while it holds one value from device memory: its values are stored and used once", reason)
        self.assertIn("Reused in device memory: #0 parameter 0", self.staging("jacobi", "jacobi_v1")["summary"])
        self.assertEqual(self.advised("jacobi", "jacobi_v2", "keep"), {"values"})
        self.assertEqual(self.staging("jacobi", "jacobi_v2")["summary"], "Shared memory is well used")

    def test_counts_with_a_limit_do_not_show_live_ranges(self):
        staging = Profiled("jacobi", words="threshold=255").advice["jacobi_v1"]["staging"]
        self.assertEqual(staging["summary"], "Shared memory is well used if its words hold one value each")

    def test_data_used_once_is_reported_as_not_worth_staging(self):
        self.assertEqual(self.advised("spmv", "spmv_warp_per_row", "drop"), {"warp_sums"})

    def test_findings(self):
        findings = {(each["rule"], each["array"]) for each in self.of("dxtc").advice["dxtc_compress"]["findings"]}
        self.assertIn(("hot words", "candidates"), findings)
        findings = {(each["rule"], each["array"].split()[0]) for each in self.of("jacobi").advice["jacobi_v1"]["findings"]}
        self.assertEqual(findings, {("reused", "#0"), ("accessed once", "#1")})

    def test_strided_use_of_every_second_word(self):
        """dxtc_errors reads the first of two words of each block."""
        findings = {each["rule"]: each["sentence"] for each in self.of("dxtc").advice["dxtc_errors"]["findings"]}
        self.assertEqual(findings["strided use"], "only words 0, 2, … were accessed: at most one of every 2")
        self.assertEqual(findings["few words of sectors"], "of the 8 words of a sector 4 were accessed on average, in 32 sectors")

    def test_the_live_table_equals_the_records(self):
        for program in ("em", "binomial"):
            profiled = self.of(program)
            self.assertEqual(profiled.table, profiled.run_.stderr)
            self.assertIn("== lynxpp: advice on shared memory ==\n", profiled.table)
        self.assertIn("Gives way: confidence", self.of("em").table.replace("\n  ", " "))

    def test_everything_follows_the_schema(self):
        if schema.jsonschema is None:
            self.skipTest("python3-jsonschema is not installed")
        for program in ("em", "binomial", "dxtc"):
            for record in [*self.of(program).records, self.of(program).json]:
                self.assertEqual(schema.complaint(record), "")

    def test_heat_maps_show_every_access(self):
        """The cells of a map, by their titles, sum up to the array's accesses."""
        for program, kernel in (("em", "em_v1"), ("dxtc", "dxtc_compress"), ("binomial", "binomial_v1")):
            profiled = self.of(program)
            page = profiled.html[profiled.html.index(f"<h3>{kernel}("):].split("<h3>")[1]
            maps = [xml.etree.ElementTree.fromstring(svg) for svg in re.findall(r'<svg role="img" aria-label="accesses along .*?</svg>', page)]
            wanted = []
            for space in ("shared", "device"):
                results = profiled.results(kernel, space, profiled.advice[kernel]["launch"])
                wanted += results["arrays.accesses"]["values"] if results else []
            shown = [sum(int(re.search(r": ([\d,]+) accesses", title.text)[1].replace(",", "")) for title in map_.iter("title"))
                     for map_ in maps]
            self.assertEqual(shown, wanted)
            for map_ in maps:
                self.assertEqual(sum(int(cell.get("width")) for cell in map_.iter("rect")), 768)

    def test_one_profile_alone_gives_findings_and_names_the_missing_one(self):
        profiled = Profiled("binomial", "device_memory_profile")
        self.assertNotIn("staging", profiled.advice["binomial_v1"])
        self.assertIn("shared_memory_profile,device_memory_profile", profiled.table)
        self.assertEqual(Profiled("binomial", "instruction_count").json["advice"], [])


if __name__ == "__main__":
    if not (BUILD.examples / "em").exists():
        print("SKIP: the example programs were not built (no nvcc when the build was configured)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
