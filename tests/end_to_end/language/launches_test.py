"""The language's guarantees about a program's launches: initial values, keys for opcodes and allocations,
shadows of device memory, folding of launches, and messages about drops.

usage: launches_test.py BUILD_FOLDER
"""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
import schema  # noqa: E402
from harness import Build, read_json_lines  # noqa: E402

BUILD = Build(sys.argv.pop())
PROGRAM = BUILD.examples / "scan"  # scan_block runs with many thread blocks, then with one
KERNEL = "scan_block"
SPECIFICATION = """// See launches_test.py
global unsigned int least[BLOCKS] = ~0u;
global unsigned long weights[] = {100, 10, 1};
global unsigned int writer[DEVICE_WORDS];
global unsigned long same_writer, other_writer = 1000;
global map unsigned long stores[256] by unsigned int;
global map unsigned long of_allocation[64] by unsigned long;
global trace unsigned long threads[4];
global unsigned int few[2];

ON_INSTRUCTION: MEM_WRITE: GLOBAL: {
  unsigned int thread = globalThreadId() + 1;
  unsigned long word = deviceWord(memoryAddress());
  stores[opcodeId()] += 1;
  of_allocation[allocationId(memoryAddress())] += accessSize();
  if (writer[word] == 0 || writer[word] == thread) same_writer += 1; else other_writer += 1;
  writer[word] = thread;
  atomicMin(&least[blockId()], blockThreadId());
}
ON_KERNEL_EXIT: {
  if (blockThreadId() < 4) append(&threads, 10 * blockId() + blockThreadId());
  few[blockThreadId()] += 1;
}
ON_REPORT: {
  emit("stores", stores, "stores");
  emit("bytes", of_allocation, "bytes");
  emit("weight", weights[0] + weights[1] + weights[2]);
  emit("least", max(least));
  emit("same_writer", same_writer);
  emit("other_writer", other_writer);
  emit("blocks", gridDim());
  fold("blocks", "max");
  emit("threads", threads);
  fold("threads", "first");
}
"""


class Language(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.specification = pathlib.Path(cls.folder.name, "language.cod")
        cls.specification.write_text(SPECIFICATION)
        cls.output = pathlib.Path(cls.folder.name, "out.jsonl")
        cls.run_ = BUILD.run(PROGRAM, spec=cls.specification, environment={"LYNXPP_OUTPUT": str(cls.output), "COLUMNS": "100"})
        cls.records = read_json_lines(cls.output)
        cls.launches = [record for record in cls.records if record["record"] == "launch" and record["demangled"].startswith(KERNEL)]
        report = BUILD.run(BUILD.command, "report", cls.output, "--format", "json", preload=False)
        cls.summary = json.loads(report.stdout)
        kernels = [kernel for spec in cls.summary["specifications"] for kernel in spec["kernels"]]
        cls.kernel = next(kernel for kernel in kernels if kernel["demangled"].startswith(KERNEL))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def table(self, name):
        return next(table for table in self.kernel["tables"] if table["name"] == name)

    def test_the_program_is_unchanged(self):
        self.assertEqual(self.run_.status, 0, self.run_)
        self.assertGreater(len(self.launches), 1)

    def test_records_follow_the_schema(self):
        if schema.jsonschema is None:
            self.skipTest("python3-jsonschema is not installed")
        for record in [*self.records, self.summary]:
            self.assertEqual(schema.complaint(record), "")

    def test_every_launch_begins_with_the_initial_values(self):
        for launch in self.launches:
            self.assertEqual(launch["results"]["weight"], 111)
            self.assertEqual(launch["results"]["least"], 0, "thread 0 of each block stores, too")
            self.assertEqual(launch["results"]["other_writer"], 1000, "each thread has words of its own")

    def test_shadows_know_every_store(self):
        for launch in self.launches:
            stores = sum(launch["results"]["stores.value"]["values"])
            self.assertEqual(launch["results"]["same_writer"], stores)

    def test_opcodes_are_keys(self):
        table = self.table("stores")
        self.assertTrue(table["folded"])
        self.assertEqual(table["columns"][0], {"name": "key", "unit": "", "fold": "key", "text": True})
        for opcode, stores in (row["values"] for row in table["rows"]):
            self.assertRegex(opcode, r"^(st|red|atom)\.")
            self.assertEqual(stores, sum(dict(zip(launch["results"]["stores.key"]["texts"],
                                                  launch["results"]["stores.value"]["values"])).get(opcode, 0) for launch in self.launches))
        self.assertRegex(self.run_.stderr, r"st\.global\.u32 +\d")

    def test_allocations_have_names(self):
        rows = [row["values"] for row in self.table("bytes")["rows"]]
        self.assertTrue(all(name.startswith("#") and "parameter" in name for name, _ in rows), rows)

    def test_launches_are_folded_as_the_report_says(self):
        blocks = [launch["results"]["blocks"] for launch in self.launches]
        self.assertEqual(self.kernel["results"]["blocks"], {"value": max(blocks), "fold": "max", "unit": ""})
        first = self.launches[0]["results"]["threads.value"]["values"]
        self.assertEqual([row["values"] for row in self.table("threads")["rows"]], [[value] for value in first])

    def test_drops_name_array_and_line(self):
        line = SPECIFICATION[:SPECIFICATION.index("few[blockThreadId()]")].count("\n") + 1
        for launch in self.launches:
            dropped = launch["grid"][0] * (launch["block"][0] - 2)
            self.assertIn(f"{dropped} accesses out of the bounds of 'few' were dropped ({self.specification}:{line})", launch["notes"])


if __name__ == "__main__":
    if not PROGRAM.exists():
        print("skipped: the examples need nvcc")
        sys.exit(77)
    unittest.main()
