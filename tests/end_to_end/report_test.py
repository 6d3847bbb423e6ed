"""Several launches of one kernel in the table, the records and every format of `lynxpp report`.

usage: report_test.py BUILD_FOLDER
"""
import csv
import html
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import schema  # noqa: E402
from harness import Build, read_json_lines, with_numbers  # noqa: E402

BUILD = Build(sys.argv.pop())
PROGRAM = BUILD.examples / "scan"  # scan_block runs with many thread blocks, then with one
KERNEL = "scan_block"

SPECIFICATION = """
global unsigned long reads[INSTRUCTIONS];
global unsigned long lanes;
global unsigned long issues;
global map unsigned long by_size[64] by unsigned int;
global trace unsigned long addresses[3];
global unsigned long lowest[2];
host int none;

ON_INSTRUCTION: MEM_READ: GLOBAL: SAMPLE_BLOCKS(2): {
  if (leastActiveThreadInWarp()) atomicAdd(&reads[instructionId()], 1);
}
ON_INSTRUCTION: MEM_READ: GLOBAL: {
  unsigned int active = activeThreadCount();
  if (leastActiveThreadInWarp()) {
    atomicAdd(&issues, 1);
    atomicAdd(&lanes, active);
    by_size[accessSize()] += 1;
    append(&addresses, memoryAddress());
  }
}
void note(const unsigned long *value) { emit("again", *value); }

ON_REPORT: {
  for (int i = 0; i < 3; ++i) print("minus one is %x", -1);
  lowest[0] = length(addresses) == 0 ? 0 : addresses[0];
  emitRatio("lanes_per_issue", lanes, issues, "lanes");
  emitRatio("nothing", lanes, none);
  emit("lanes", lanes);
  emit("issues", issues);
  emitTable("sites", "reads", reads);
  emit("sizes", by_size);
  emit("trace", addresses, "address");
  emit("lowest", lowest, "address");
  note(&lanes);
  note(&issues);
  emit("missing", lowest[none + 2]);
}
ON_END: emitRatio("half", 1, 2);
"""


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.specification = pathlib.Path(cls.folder.name, "several.cod")
        cls.specification.write_text(SPECIFICATION)
        cls.output = pathlib.Path(cls.folder.name, "out.jsonl")
        cls.run_ = BUILD.run(PROGRAM, spec=cls.specification, environment={"LYNXPP_OUTPUT": str(cls.output), "COLUMNS": "100"})
        cls.records = read_json_lines(cls.output)
        cls.launches = [record for record in cls.records if record["record"] == "launch" and record["demangled"].startswith(KERNEL)]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def report(self, format_):
        run = BUILD.run(BUILD.command, "report", self.output, "--format", format_, preload=False, environment={"COLUMNS": "100"})
        self.assertEqual((run.status, run.stderr), (0, ""), run)
        return run.stdout.decode()

    def summary(self):
        summary = json.loads(self.report("json"))
        if schema.jsonschema is not None:
            self.assertEqual(schema.complaint(summary), "")
        kernels = [kernel for spec in summary["specifications"] for kernel in spec["kernels"]]
        return summary, next(kernel for kernel in kernels if kernel["demangled"].startswith(KERNEL))

    def results(self, name):
        return [launch["results"][name] for launch in self.launches]

    def test_launches_differ(self):
        self.assertEqual(self.run_.status, 0, self.run_)
        self.assertGreater(len(self.launches), 1)
        self.assertGreater(len({tuple(launch["grid"]) for launch in self.launches}), 1)

    def test_records_follow_the_schema(self):
        if schema.jsonschema is None:
            self.skipTest("python3-jsonschema is not installed")
        for record in self.records:
            self.assertEqual(schema.complaint(record), "")

    def test_the_live_table_equals_the_records(self):
        self.assertEqual(self.report("table"), self.run_.stderr)

    def test_ratios_are_sums_over_sums(self):
        numerator, denominator = sum(self.results("lanes")), sum(self.results("issues"))
        for launch in self.launches:
            lanes, issues = launch["results"]["lanes"], launch["results"]["issues"]
            self.assertEqual(launch["results"]["lanes_per_issue"], {"value": lanes / issues, "numerator": lanes, "denominator": issues})
            self.assertIsNone(launch["results"]["nothing"]["value"])
        _, kernel = self.summary()
        self.assertEqual(kernel["results"]["lanes_per_issue"], {"value": numerator / denominator, "fold": "ratio", "unit": "lanes"})
        self.assertIsNone(kernel["results"]["nothing"]["value"])
        self.assertEqual(kernel["results"]["lanes"]["value"], numerator)
        self.assertIn(f"{numerator / denominator:.3f}", self.run_.stderr)
        self.assertIn(f"{numerator / denominator:.3f}", self.report("plain-html"))

    def test_different_grids_are_not_shown_as_one(self):
        _, kernel = self.summary()
        self.assertIsNone(kernel["grid"])
        self.assertRegex(self.run_.stderr, rf"{KERNEL} +{len(self.launches)} +varies ")
        self.assertIn("<td>varies</td>", self.report("plain-html"))

    def test_repeated_names_are_numbered_everywhere(self):
        summary, kernel = self.summary()
        for name, same in (("again", "lanes"), ("again#2", "issues")):
            self.assertEqual(self.results(name), self.results(same))
            self.assertEqual(kernel["results"][name]["value"], sum(self.results(same)))
            for text in (self.run_.stderr, self.report("csv"), self.report("plain-html")):
                self.assertIn(name, text)

    def test_tables_by_site_are_added_up(self):
        values = [sum(column) for column in zip(*(result["values"] for result in self.results("sites.reads")))]
        _, kernel = self.summary()
        self.assertEqual(kernel["arrays"]["sites.reads"]["values"], values)
        rows = next(hot["rows"] for hot in kernel["hot_sites"] if hot["by"] == "instruction")
        self.assertEqual(rows[0]["values"]["sites.reads"], max(values))
        for text in (self.run_.stderr, self.report("plain-html")):
            self.assertIn("the hottest instructions", text)

    def table(self, name):
        _, kernel = self.summary()
        return next(table for table in kernel["tables"] if table["name"] == name)

    def test_maps_are_folded_by_key(self):
        counts = {}
        for keys, values in zip(self.results("sizes.key"), self.results("sizes.value")):
            self.assertEqual(keys["fold"], "key")
            for key, value in zip(keys["values"], values["values"]):
                counts[key] = counts.get(key, 0) + value
        table = self.table("sizes")
        self.assertTrue(table["folded"])
        self.assertEqual({key: value for key, value in (row["values"] for row in table["rows"])}, counts)
        self.assertRegex(self.run_.stderr, rf"\n{KERNEL}[^\n]*: sizes\n")

    def test_traces_stay_apart_by_launch(self):
        expected = [(launch["launch"], hex(address)) for launch in self.launches
                    for address in launch["results"]["trace.value"]["values"]]
        table = self.table("trace")
        self.assertFalse(table["folded"])
        self.assertEqual([(row["launch"], row["values"][0].split()[0]) for row in table["rows"]], expected)
        self.assertRegex(self.run_.stderr, rf"\n{KERNEL}[^\n]*: trace\n +launch +index +value\n")

    def test_addresses_are_named_by_the_allocation_at_the_launch(self):
        rows = iter(self.table("trace")["rows"])
        for launch in self.launches:
            for address in launch["results"]["trace.value"]["values"]:
                holder, = (each for each in launch["allocations"] if 0 <= address - each["address"] < each["bytes"])
                self.assertRegex(holder["name"], r"^#\d+$")
                text = f"{hex(address)} {holder['name']}+{hex(address - holder['address'])}"
                self.assertEqual(next(rows)["values"][0], text)
                self.assertIn(text, self.run_.stderr)

    def test_addresses_are_not_added_up(self):
        _, kernel = self.summary()
        for name in ("lowest", "trace.value"):
            self.assertIsNone(kernel["arrays"][name]["sum"])
            total = sum(value for result in self.results(name) for value in result["values"])
            for text in (self.run_.stderr, self.report("plain-html")):
                self.assertNotIn(f"{total:,}", text)

    def test_notes_count_launches(self):
        many = f"minus one is ffffffff ({3 * len(self.launches)} times in {len(self.launches)} launches)"
        self.assertIn(many, self.run_.stderr)
        self.assertIn(many, self.report("plain-html"))

    def test_errors_of_reports_name_the_specification(self):
        line = SPECIFICATION.splitlines().index('  emit("missing", lowest[none + 2]);') + 1
        place = f"{self.specification}:{line}:19: this index is out of range; the access was skipped"
        for launch in self.launches:
            self.assertIn(place, launch["notes"])
        self.assertNotIn("PTX line", self.run_.stderr)

    def test_samples_are_reported_by_handler(self):
        for launch in self.launches:
            self.assertIn("sampled handler of line 10: 1 of 2 thread blocks; handler of line 13: all", launch["notes"])
            self.assertEqual([handler["blocks"] for handler in launch["sampling"]["handlers"]], [2, 1])

    def test_csv_has_every_number(self):
        rows = list(csv.DictReader(io.StringIO(self.report("csv"))))
        ratios = [row for row in rows if row["result"] == "lanes_per_issue" and row["demangled"].startswith(KERNEL)]
        self.assertEqual([int(row["numerator"]) for row in ratios], self.results("lanes"))
        self.assertEqual([int(row["denominator"]) for row in ratios], self.results("issues"))
        total = [row for row in rows if row["result"] == "half"]
        self.assertEqual([(row["kernel"], row["value"]) for row in total], [("", "0.5")])

    def test_totals_are_shown_by_every_format(self):
        summary, _ = self.summary()
        self.assertEqual(summary["totals"][0]["results"], {"half": {"value": 0.5, "numerator": 1, "denominator": 2}})
        for text in (self.run_.stderr, self.report("plain-html")):
            self.assertRegex(text, r"half\b[^\n]*0\.500")


class Words(unittest.TestCase):
    """Arrays indexed by words, over several launches."""

    def test_rows_agree_for_several_launches(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            run = BUILD.run(PROGRAM, spec="shared_memory_profile,device_memory_profile", environment={"LYNXPP_OUTPUT": str(output)})
            self.assertEqual(run.status, 0, run)
            records = [with_numbers(record) for record in read_json_lines(output) if record["record"] == "launch"]
            summary = json.loads(BUILD.run(BUILD.command, "report", output, "--format", "json", preload=False).stdout)
            rows = csv.DictReader(io.StringIO(BUILD.run(BUILD.command, "report", output, "--format", "csv", preload=False).stdout.decode()))
            labels = {row["label"] for row in rows if row["result"] == "arrays_heat"}
            page = BUILD.run(BUILD.command, "report", output, "--format", "plain-html", preload=False).stdout.decode()
        if schema.jsonschema is not None:
            self.assertEqual(schema.complaint(summary), "")
        for totals in summary["specifications"]:
            for kernel in totals["kernels"]:
                launches = [record["results"] for record in records if (record["spec"], record["kernel"]) == (totals["spec"], kernel["kernel"])]
                self.check(kernel, [results for results in launches if results])
                for label in kernel["arrays"].get("arrays.words", {}).get("labels", []):
                    self.assertIn(label, labels)
                    self.assertTrue(html.escape(label) in page, label)
        self.assertGreater(max(kernel["launches"] for totals in summary["specifications"] for kernel in totals["kernels"]), 1)

    def check(self, kernel, launches):
        expected = {}
        for results in launches:
            for i, label in enumerate(results["arrays.words"]["labels"]):
                row = {name: results[f"arrays.{name}"]["values"][i] for name in ("words", "accesses", "least", "greatest", "never", "once", "reused")}
                expected.setdefault(label, []).append(row)
        if not expected:
            return
        arrays = kernel["arrays"]
        self.assertEqual(arrays["arrays.words"]["labels"], list(expected))
        for i, rows in enumerate(expected.values()):
            found = {name: arrays[f"arrays.{name}"]["values"][i] for name in (*rows[0], "mean")}
            self.assertEqual(found["accesses"], sum(row["accesses"] for row in rows))
            self.assertEqual(found["least"], min(row["least"] for row in rows))
            self.assertEqual(found["greatest"], max(row["greatest"] for row in rows))
            self.assertAlmostEqual(found["mean"], found["accesses"] / sum(row["words"] for row in rows))
            self.assertAlmostEqual(found["words"], found["never"] + found["once"] + found["reused"])
            self.assertEqual(sum(arrays["arrays_heat"]["values"][64 * i:64 * (i + 1)]), found["accesses"])


class Counters(unittest.TestCase):
    def test_launches_keep_their_numbers(self):
        """LYNXPP_CPU_COUNTERS with LYNXPP_LAUNCHES: instrumented launches keep their positions."""
        _, native = BUILD.count(PROGRAM)
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "counters.jsonl")
            run = BUILD.run(PROGRAM, spec="kernel_runtime", environment={"LYNXPP_CPU_COUNTERS": str(output), "LYNXPP_LAUNCHES": "1"})
            self.assertEqual(run.status, 0, run)
            counted = read_json_lines(output)
        key = lambda launch: (launch["kernel"], launch["launch"], launch["grid"], launch["block"])
        self.assertEqual([key(launch) for launch in counted], [key(launch) for launch in native])
        self.assertEqual({launch["launch"] for launch in counted if launch.get("instrumented")}, {1})
        for one, other in zip(counted, native):
            if not one.get("instrumented"):
                self.assertEqual(one["thread_instructions"], other["thread_instructions"])


if __name__ == "__main__":
    if not PROGRAM.exists():
        print("SKIP: the example programs were not built (no nvcc when the build was configured)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
