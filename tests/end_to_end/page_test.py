"""The page of a run: its data, and its rendering in headless Chromium.

usage: page_test.py BUILD_FOLDER
"""
import base64
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True
import page_records  # noqa: E402
import schema  # noqa: E402
from harness import Build, read_json_lines  # noqa: E402

BUILD = Build(sys.argv.pop())
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGE_SCHEMA = json.loads((schema.FILE.parent / "page.schema.json").read_text())
SPECIFICATIONS = "basic_block_count,memory_transactions,memory_efficiency,opcode_mix"
BLOCK_TIMELINE = """
struct stay { unsigned long block; unsigned long sm; unsigned long begin; unsigned long end; };
global unsigned long begins[BLOCKS];
global trace struct stay stays[65536];

ON_KERNEL_ENTRY: { if (blockThreadId() == 0) begins[blockId()] = globalTimer(); }
ON_KERNEL_EXIT: {
  if (blockThreadId() == 0) append(&stays, blockId(), smId(), begins[blockId()], globalTimer());
}
ON_REPORT: emit("blocks", stays);
"""


def data_of(page):
    packed = re.search(r'id="data">([^<]*)<', page)
    return json.loads(zlib.decompress(base64.b64decode(packed[1]))) if packed else None


def report(records, format_):
    run = BUILD.run(BUILD.command, "report", records, "--format", format_, preload=False)
    assert (run.status, run.stderr) == (0, ""), run
    return run.stdout.decode()


class Text(html.parser.HTMLParser):
    """Collects the text between the tags."""

    def __init__(self, page):
        super().__init__()
        self.parts = []
        self.feed(page)

    def handle_data(self, data):
        self.parts.append(data)

    def __str__(self):
        return " ".join(self.parts)


def opened(page, folder, hash_=""):
    """Returns the document in Chromium, and the milliseconds until it was shown."""
    path = pathlib.Path(folder, "page.html")
    path.write_text(page)
    # On a busy machine the virtual time may end before the first frame, which records when the page was
    # shown.
    for budget in (10000, 40000, 160000):
        run = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--window-size=1400,3000",
                              "--timeout=20000", f"--virtual-time-budget={budget}", "--dump-dom", f"file://{path}{hash_}"],
                             capture_output=True, timeout=120)
        dom = run.stdout.decode(errors="replace")
        shown = re.search(r'data-opened-ms="(\d+)"', dom)
        if shown:
            break
    assert shown, f"the page was not opened\n{run.stderr.decode(errors='replace')[-2000:]}\n{dom[-500:]}"
    return dom, int(shown[1])


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        specification = pathlib.Path(cls.folder.name, "block_timeline.cod")
        specification.write_text(BLOCK_TIMELINE)
        cls.output = pathlib.Path(cls.folder.name, "out.jsonl")
        cls.run_ = BUILD.run(BUILD.examples / "reduction", spec=f"{SPECIFICATIONS},{specification}",
                             environment={"LYNXPP_OUTPUT": str(cls.output), "LYNXPP_TIMELINE": "1", "LYNXPP_CPU_CLOCK": "compute_1_3"})
        cls.records = read_json_lines(cls.output)
        cls.page = report(cls.output, "html")
        cls.data = data_of(cls.page)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        if self.data is None:
            self.skipTest("lynxpp was built without npm: its page is the plain one")

    def browser(self, page, hash_=""):
        if CHROMIUM is None:
            self.skipTest("Chromium is not installed")
        return opened(page, self.folder.name, hash_)

    def test_data_follows_the_schema(self):
        if schema.jsonschema is None:
            self.skipTest("python3-jsonschema is not installed")
        schema.jsonschema.validate(self.data, PAGE_SCHEMA)
        self.assertEqual(schema.complaint(self.data["summary"]), "")
        for kind in ("sites", "launches", "activities", "devices", "coverage"):
            for record in self.data[kind]:
                self.assertEqual(schema.complaint(record), "")

    def test_ptx_equals_the_program(self):
        table = next(record for record in self.records if record["record"] == "sites")
        whole = (BUILD.examples / "reduction.ptx").read_text().split("\n")
        self.assertTrue(table["ptx"])
        texts = {}
        for part in table["ptx"]:
            for i, line in enumerate(part["text"].rstrip("\n").split("\n")):
                texts[part["line"] + i] = line
        for line, text in texts.items():
            self.assertEqual(text.split(), whole[line - 1].split("//")[0].split())  # nvcc embeds it without comments
        for line, opcode in zip(table["instructions"]["ptx_line"], table["instructions"]["opcode"]):
            self.assertIn(table["opcodes"][opcode], texts[line])

    def test_ptx_can_be_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            BUILD.run(BUILD.examples / "reduction", spec="basic_block_count", environment={"LYNXPP_OUTPUT": str(output), "LYNXPP_PTX": "0"})
            tables = [record for record in read_json_lines(output) if record["record"] == "sites"]
            self.assertTrue(tables)
            self.assertFalse(any("ptx" in table for table in tables))

    def test_it_lists_the_source_files_that_it_holds(self):
        """Records may name any file: files that are not source are not in the page, which says so."""
        folder = pathlib.Path(self.folder.name)
        source, secret = folder / "mine.cu", folder / "secret"
        source.write_text("one\ntwo\n")
        secret.write_text("password")
        records = folder / "sources.jsonl"
        with open(records, "w") as file:
            for kernel, path in enumerate((source, secret)):
                for record in page_records.records_of(kernel, 4, 1, str(path)):
                    file.write(json.dumps(record) + "\n")
        page = report(records, "html")
        self.assertEqual(data_of(page)["sources"],
                         [{"path": str(source), "text": "one\ntwo\n"},
                          {"path": str(secret), "text": None, "missing": "its name has no suffix of a source file"}])
        if schema.jsonschema is not None:
            schema.jsonschema.validate(data_of(page), PAGE_SCHEMA)
        without = BUILD.run(BUILD.command, "report", records, "--format", "html", "--no-source", preload=False).stdout.decode()
        self.assertEqual([each["text"] for each in data_of(without)["sources"]], [None, None])
        dom, _ = self.browser(page)
        self.assertIn("Source files (1 of 2 in this page)", str(Text(dom)))

    def test_it_shows_the_kernel(self):
        dom, _ = self.browser(self.page)
        text = str(Text(dom))
        self.assertIn("reduce_sum(unsigned int const*, int, unsigned long long*, unsigned int*)", text)
        self.assertIn("compile with -lineinfo", text)
        self.assertIn("modelled for compute_1_3", text)
        table = next(record for record in self.records if record["record"] == "sites")
        self.assertEqual(len(set(re.findall(r'data-block="(\d+)"', dom))), len(table["blocks"]["first"]))
        counts = [record["results"] for record in self.records if record["record"] == "launch" and record["spec"] == "basic_block_count"]
        hottest = max(map(sum, zip(*(each["thread_executions"]["values"] for each in counts))))
        self.assertIn(f"{hottest:,}", text)
        self.assertRegex(dom, r'aria-label="thread blocks by multiprocessor"')
        for title in ("Metrics", "Source and PTX", "Basic blocks", "Thread blocks on multiprocessors", "Tables", "Licences"):
            self.assertIn(title, text)

    def test_heat_maps_show_amounts_and_numbers(self):
        """Cycles are amounts; an SM has a number."""
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            BUILD.run(BUILD.examples / "mandelbrot", spec="block_runtime", environment={"LYNXPP_OUTPUT": str(output), "LYNXPP_CPU_CLOCK": "compute_1_3"})
            (results,) = [record["results"] for record in read_json_lines(output) if record["record"] == "launch"]
            dom, _ = self.browser(report(output, "html"))
        for name, amount in (("cycles", "{:,} cycles"), ("sm", "sm {:,}")):
            values = results[name]["values"]
            self.assertIn(f"<p class=\"detail\">{len(values)} elements, the greatest is {amount.format(max(values))}</p>", dom)

    def test_source_lines_have_the_values_of_their_instructions(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "a.cu")
            source.write_text("__global__ void k0() {\n  first();\n  second();\n}\n")
            records = pathlib.Path(folder, "out.jsonl")
            page_records.write(records, kernels=1, sites=4, source=str(source))
            dom, _ = self.browser(report(records, "html"))
        lines = dict(re.findall(r'data-line="(\d+)"[^>]*><span class="value">([^<]*)</span><span class="number">\d+</span><span class="text">[^<]*<?[^<]*(?:first|second)', dom))
        expected = page_records.values_of(0, 4)
        self.assertEqual(lines, {"2": f"{expected[0] + expected[1]:,}", "3": f"{expected[2] + expected[3]:,}"})

    def test_a_large_page_opens_quickly(self):
        with tempfile.TemporaryDirectory() as folder:
            records = pathlib.Path(folder, "out.jsonl")
            page_records.write(records, kernels=2000, sites=50)
            dom, milliseconds = self.browser(report(records, "html"))
        self.assertIn("Kernels (2,000)", dom)
        print(f"2,000 kernels, 100,000 sites: shown after {milliseconds} ms", file=sys.stderr)

    def test_perfetto_has_a_slice_for_each_block(self):
        events = json.loads(report(self.output, "perfetto"))["traceEvents"]
        launches = [record for record in self.records if record["record"] == "launch" and record["spec"] == "block_timeline"]
        blocks = [event for event in events if event["ph"] == "X" and event["pid"] == 3]
        self.assertEqual(len(blocks), sum(len(launch["results"]["blocks.sm"]["values"]) for launch in launches))
        modelled = [launch for launch in launches if "modelled" in launch]
        self.assertTrue(modelled)
        self.assertEqual(len([event for event in blocks if "(modelled)" in event["name"]]),
                         sum(len(launch["results"]["blocks.sm"]["values"]) for launch in modelled))
        slices = [event for event in events if event["ph"] == "X" and event["pid"] == 2]
        self.assertEqual(len(slices), len(modelled))
        copies = [record for record in self.records if record["record"] == "activity" and "copy" in record]
        self.assertEqual(len([event for event in events if event["pid"] == 1 and event["name"].startswith("copy ")]), len(copies))


if __name__ == "__main__":
    unittest.main(verbosity=2)
