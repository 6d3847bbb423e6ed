"""The page of a run: its data, and its rendering in headless Chromium.

usage: page_test.py BUILD_FOLDER
"""
import base64
import html.parser
import json
import lzma
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
GPU_RECORDS = pathlib.Path(__file__).resolve().with_name("gpu_records")
LIMITED = (0xb3, 0x42, 0x3a)  # the color of limits in the pictures
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


def opened(page, folder, hash_="", mark=r'data-opened-ms="(\d+)"', height=3000):
    """Returns the document in Chromium, and `mark` in it: the milliseconds until it was shown."""
    path = pathlib.Path(folder, "page.html")
    path.write_text(page)
    # On a busy machine the virtual time may end before the first frame, which records when the page was
    # shown.
    for budget in (10000, 40000, 160000):
        run = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", f"--window-size=1400,{height}",
                              "--timeout=20000", f"--virtual-time-budget={budget}", "--dump-dom", f"file://{path}{hash_}"],
                             capture_output=True, timeout=120)
        dom = run.stdout.decode(errors="replace")
        shown = re.search(mark, dom)
        if shown:
            break
    assert shown, f"the page was not opened\n{run.stderr.decode(errors='replace')[-2000:]}\n{dom[-500:]}"
    return dom, shown[1]


def probed(page, folder, script, hash_=""):
    """Opens the page, runs the script's statements and returns the value that they return."""
    probe = """<script>(async () => {
      const pause = (ms) => new Promise((go) => setTimeout(go, ms));
      const all = (selector, under = document) => [...under.querySelectorAll(selector)];
      const box = (node) => { const { x, y, width, height } = node.getBoundingClientRect(); return { x, y, width, height }; };
      while (!document.documentElement.dataset.openedMs) await pause(20);
      await pause(200);
      const result = await (async () => { SCRIPT })().catch((error) => ({ error: String(error) }));
      document.documentElement.dataset.probe = btoa(unescape(encodeURIComponent(JSON.stringify(result))));
    })();</script></body>"""
    _, text = opened(page.replace("</body>", probe.replace("SCRIPT", script)), folder, hash_, r'data-probe="([^"]*)"', 900)
    return json.loads(base64.b64decode(text))


def pixels(page, folder, height=400):
    """Returns the picture of the page's top as rows of (red, green, blue)."""
    path, picture = pathlib.Path(folder, "page.html"), pathlib.Path(folder, "page.png")
    path.write_text(page)
    subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", f"--window-size=1400,{height}", "--hide-scrollbars",
                    "--timeout=20000", "--virtual-time-budget=40000", f"--screenshot={picture}", f"file://{path}"], capture_output=True, timeout=120, check=True)
    png = picture.read_bytes()
    chunks, at = {}, 8
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        chunks[kind] = chunks.get(kind, b"") + png[at + 8:at + 8 + length]
        at += length + 12
    width, height, depth = int.from_bytes(chunks[b"IHDR"][:4], "big"), int.from_bytes(chunks[b"IHDR"][4:8], "big"), {2: 3, 6: 4}[chunks[b"IHDR"][9]]
    data = zlib.decompress(chunks[b"IDAT"])
    rows, above, size = [], bytearray(width * depth), width * depth
    for y in range(height):
        filter_, row = data[y * (size + 1)], bytearray(data[y * (size + 1) + 1:(y + 1) * (size + 1)])
        for x in range(size):
            left, up, corner = (row[x - depth] if x >= depth else 0), above[x], (above[x - depth] if x >= depth else 0)
            nearest = min((left, up, corner), key=lambda each: abs(left + up - corner - each))
            row[x] = row[x] + (0, left, up, (left + up) // 2, nearest)[filter_] & 255
        rows.append([tuple(row[x:x + 3]) for x in range(0, size, depth)])
        above = row
    return rows


def end_of(row, at, is_same):
    while at < len(row) and is_same(row[at]):
        at += 1
    return at


def values_by_spec(data, kernel):
    """Returns the kernel's arrays: {"SPEC.ARRAY": values}."""
    return {f"{totals['spec']}.{name}": array.get("values") for totals in data["summary"]["specifications"] for each in totals["kernels"]
            if each["kernel"] == kernel for name, array in each["arrays"].items()}


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

    def probed(self, page, script, hash_=""):
        if CHROMIUM is None:
            self.skipTest("Chromium is not installed")
        return probed(page, self.folder.name, script, hash_)

    def recorded(self, folder, program, environment, *arguments):
        """Returns the file of a recorded run, and its page's data."""
        output = pathlib.Path(folder, "record.jsonl")
        run = BUILD.run(BUILD.command, "record", "-d", "cpu", "-o", output, "--", program, *arguments, preload=False, environment=environment)
        self.assertEqual(run.status, 0, run)
        return output, data_of(report(output, "html"))

    @classmethod
    def planted(cls):
        """Returns the page of a run with many kernels, which was compiled with -lineinfo."""
        if not hasattr(cls, "planted_"):
            output = pathlib.Path(cls.folder.name, "planted.jsonl")
            BUILD.run(BUILD.command, "record", "-d", "cpu", "-o", output, "--", BUILD.examples / "tests" / "finding_planted", preload=False,
                      environment={"LYNXPP_CPU_CLOCK": "compute_9_0"})
            cls.planted_ = report(output, "html")
        return cls.planted_

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
        text = self.probed(page, "all('body > details').forEach((each) => each.fill()); return document.body.innerText;")
        self.assertIn("Source files (1 of 2 in this page)", text)

    def test_it_shows_the_kernel(self):
        dom, _ = self.browser(self.page)
        text = str(Text(dom))
        self.assertIn("reduce_sum(unsigned int const*, int, unsigned long long*, unsigned int*)", text)
        self.assertIn("compile with -lineinfo", text)
        self.assertIn("modelled for compute_1_3", text)
        table = next(record for record in self.records if record["record"] == "sites")
        self.assertEqual(len(set(re.findall(r'data-block="(\d+)"', dom))), len(table["blocks"]["first"]))
        counts = [record["results"] for record in self.records if record["record"] == "launch" and record["spec"] == "basic_block_count"]
        executions = map(sum, zip(*(each["warp_executions"]["values"] for each in counts)))
        hottest, instructions = max((count * n, n) for count, n in zip(executions, table["blocks"]["instructions"]))
        self.assertIn(f"{instructions} instruction{'s' * (instructions > 1)} · {hottest:,}", text)
        self.assertRegex(dom, r'aria-label="thread blocks by multiprocessor"')
        for title in ("Key figures", "Source and PTX", "Control flow", "Thread blocks", "Tables"):
            self.assertIn(title, text)

    def test_blocks_are_shown_by_their_cycles(self):
        """Cycles are amounts; the number of an SM is not, and is not drawn."""
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            BUILD.run(BUILD.examples / "mandelbrot", spec="block_runtime", environment={"LYNXPP_OUTPUT": str(output), "LYNXPP_CPU_CLOCK": "compute_1_3"})
            (results,) = [record["results"] for record in read_json_lines(output) if record["record"] == "launch"]
            dom, _ = self.browser(report(output, "html"))
        text = str(Text(dom))
        self.assertIn(f"cycles of {len(results['cycles']['values'])} blocks", text)
        rows = re.findall(r'<th>([\d,]+)(?:–([\d,]+))? cycles</th>.*?<td class="count" title="([\d,]+)">', dom)
        rows = [[int(each.replace(",", "")) for each in (low, high or low, count)] for low, high, count in rows]
        self.assertEqual([count for _, _, count in rows], [sum(low <= each <= high for each in results["cycles"]["values"]) for low, high, _ in rows])
        self.assertEqual(sum(count for _, _, count in rows), len(results["cycles"]["values"]))
        self.assertNotIn("elements of sm", dom)
        self.assertNotIn("sm of ", text)

    def test_a_distribution_has_readable_bounds(self):
        """The runtime's distribution counts blocks with 2^i to 2^(i+1) cycles."""
        launch = {"record": "launch", "kernel": "k", "demangled": "k()", "launch": 0, "grid": [8, 1, 1], "block": [32, 1, 1], "spec": "kernel_runtime",
                  "results": {"distribution": {"extents": [64], "names": ["64"], "values": [0] * 10 + [3, 0, 5] + [0] * 51}}, "units": {"distribution": "blocks"}}
        for device, rows in (("cpu (times modelled for x)", ["thread blocks by cycles", "1,024–2,047 cycles\t\n\t3 · 38 %", "2,048–4,095 cycles\t\n\t", "4,096–8,191 cycles\t\n\t5 · 63 %"]), ("cpu", [])):
            with tempfile.TemporaryDirectory() as folder:
                records = pathlib.Path(folder, "out.jsonl")
                records.write_text(json.dumps({**launch, "device": device}) + "\n")
                page = report(records, "html")
            self.assertEqual([" ".join(each.split()) for each in self.probed(page, "return all('.bins h4, .bins tr').map((each) => each.innerText)")],
                             [" ".join(each.split()) for each in rows], device)

    def test_notes_precede_the_numbers_that_they_qualify(self):
        with tempfile.TemporaryDirectory() as folder:
            records = pathlib.Path(folder, "out.jsonl")
            records.write_text("".join(json.dumps({"record": "launch", "kernel": "k", "demangled": "k()", "launch": 0, "grid": [8, 1, 1], "block": [32, 1, 1], "device": "cpu",
                                                   "spec": spec, "results": {"n": 5}, "notes": ["counts are an estimate"]}) + "\n" for spec in ("first", "second")))
            page = report(records, "html")
        text = self.probed(page, "return document.querySelector('#kernel').innerText")
        self.assertLess(text.index("first, second: counts are an estimate"), text.index("Key figures"))

    def test_clocks_of_the_cpu_device_are_not_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            page = report(self.recorded(folder, BUILD.examples / "vecadd", {})[0], "html")
        self.assertIn('"max_cycles"', json.dumps(data_of(page)["summary"]))
        text = self.probed(page, "return document.body.innerText")
        self.assertIn("Key figures", text)
        for words in ("mean of longest", "cycles of"):
            self.assertFalse(words in text, words)

    def test_source_lines_have_the_values_of_their_instructions(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "a.cu")
            source.write_text("__global__ void k0() {\n  first();\n  second();\n}\n")
            records = pathlib.Path(folder, "out.jsonl")
            page_records.write(records, kernels=1, sites=4, source=str(source))
            dom, _ = self.browser(report(records, "html"))
        lines = dict(re.findall(r'data-line="(\d+)"[^>]*><span class="number">\d+</span><span class="value"[^>]*>([^<]*)</span><span class="text">[^<]*<?[^<]*(?:first|second)', dom))
        expected = page_records.values_of(0, 4)
        self.assertEqual(lines, {"2": f"{expected[0] + expected[1]:,}", "3": f"{expected[2] + expected[3]:,}"})

    def test_the_header_says_what_ran_and_how_much_was_measured(self):
        page = self.planted()
        data = data_of(page)
        head, rest, details = self.probed(page, """const rest = document.querySelector("body > details");
          return [document.querySelector("header").innerText, [rest.innerText, rest.open], (rest.fill(), rest.innerText)];""")
        (process,) = data["processes"]
        self.assertEqual(process["command"], [str(BUILD.examples / "tests" / "finding_planted")])
        for part in ("finding_planted", process["command"][0], "cpu (times modelled for compute_9_0)", "until the last launch ended"):
            self.assertIn(part, head)
        self.assertRegex(head, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
        self.assertRegex(head, r"modelled GPU time\s+[\d.]+ [µm]s")
        self.assertEqual(rest, ["14 of 14 kernels measured: 100 % of launches", False])
        for part in ("Time of every stage", "Source files", "Licences"):
            self.assertIn(part, details)

    def test_the_header_counts_what_was_not_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            records = pathlib.Path(folder, "out.jsonl")
            page_records.write(records, kernels=1, sites=4)
            with open(records, "a") as file:
                for kernel, launches, is_counted in (("k0", 1, True), ("closed", 3, False)):
                    file.write(json.dumps({"record": "coverage", "kernel": kernel, "demangled": kernel, "instrumented": is_counted, "reason": "" if is_counted else "no PTX",
                                           "launches": launches, "instrumented_launches": launches * is_counted, "sites": 1, "lacks_ptx": not is_counted}) + "\n")
            page = report(records, "html")
        text = self.probed(page, "return document.querySelector('body > details > summary').innerText")
        self.assertEqual(text, "1 of 2 kernels measured: 25 % of launches")

    def test_each_finding_is_one_card_with_a_bar_of_its_gain(self):
        page = self.planted()
        list_ = data_of(page)["summary"]["findings"]["list"]
        shown = self.probed(page, """const shown = {};
          all(".section").filter((each) => each.innerText.match(/finding/)).forEach((each) => each.fill());
          for (let kernel = 0; kernel < KERNELS; ++kernel) {
            location.hash = `#kernel=${kernel}`;
            await pause(50);
            all("#kernel .section").filter((each) => each.innerText.match(/finding/i)).forEach((each) => each.fill());
            for (const card of all(`${kernel ? "#kernel" : "body"} .card:has(a)`)) {
              const bar = card.querySelector(".share");
              (shown[card.querySelector("a").hash] ??= []).push({ share: bar && box(bar.firstChild).width / box(bar).width, text: card.innerText, open: card.querySelector("details").open });
            }
          }
          return shown;""".replace("KERNELS", str(len(data_of(page)["kernels"]))))
        self.assertEqual(sorted(shown), sorted(f"#finding={i}" for i in range(len(list_))))
        for i, finding in enumerate(list_):
            (card,) = shown[f"#finding={i}"]
            self.assertIn(finding["rule"], card["text"].lower())
            self.assertFalse(card["open"])
            self.assertNotIn(finding["why"][1:], card["text"], "the reason is folded")
            if finding["benefit"] is None:
                self.assertIn("gain not estimated", card["text"])
            else:
                self.assertAlmostEqual(card["share"], finding["benefit"], delta=0.02)
                self.assertIn("(estimated", card["text"])

    def test_the_gain_is_seen_in_the_pictures_of_three_runs(self):
        """The first orange pixels are the first finding's bar; its track follows in the color of panels."""
        if CHROMIUM is None:
            self.skipTest("Chromium is not installed")

        for program in ("transpose", "spmv", "mandelbrot"):
            with tempfile.TemporaryDirectory() as folder:
                output, data = self.recorded(folder, BUILD.examples / program, {"LYNXPP_CPU_CLOCK": "compute_9_0"})
                rows = pixels(report(output, "html"), self.folder.name)
            self.assert_first_bar(rows, data["summary"]["findings"]["list"][0]["benefit"], program)

    def assert_first_bar(self, rows, benefit, program):
        def is_orange(pixel):
            return pixel[0] > pixel[2] + 80
        row, begin = next((row, x) for row in rows for x, pixel in enumerate(row) if is_orange(pixel))
        bar = end_of(row, begin, is_orange)
        track = end_of(row, bar + 1, lambda pixel: pixel == row[bar + 1])
        self.assertGreater(track - begin, 50, program)
        self.assertAlmostEqual((bar - begin) / (track - begin), benefit, delta=0.02, msg=program)

    def test_gains_and_limits_are_seen_in_the_pictures_of_three_runs_on_a_gpu(self):
        """The records of `record --measure` on an H200, of programs in examples/first_findings."""
        if CHROMIUM is None:
            self.skipTest("Chromium is not installed")
        for program, first, line in (("hist", "contended atomics", 29), ("mm", "uncoalesced access", 18), ("spmv", "scattered access", 21)):
            with self.subTest(program), tempfile.TemporaryDirectory() as folder:
                records = pathlib.Path(folder, f"{program}.jsonl")
                records.write_bytes(lzma.decompress((GPU_RECORDS / f"{program}.jsonl.xz").read_bytes()))
                page = report(records, "html")
                finding = data_of(page)["summary"]["findings"]["list"][0]
                self.assertEqual((finding["rule"], finding["place"]["line"], finding["basis"]), (first, line, "measured"))
                low, high = finding["interval"]
                self.assertTrue(low <= finding["benefit"] <= high, finding)
                greatest = float(re.search(r"<title>[\w-]+: at most (\d+) %", data_of(page)["limits"])[1]) / 100
                rows = pixels(page, folder, height=500)
            self.assert_first_bar(rows, finding["benefit"], program)
            # The greatest limit: a solid bar of 400 pixels per 100 %, crossed by its whisker.
            bars = [(row, x) for row in rows for x, pixel in enumerate(row) if pixel == LIMITED]
            row, begin = bars[0]
            self.assertAlmostEqual(end_of(row, begin, lambda pixel: pixel == LIMITED) - begin, 400 * greatest, delta=4, msg=program)
            background = rows[0][0]
            self.assertTrue(all(row[-1] == background and row[-8] == background for row in rows), f"{program}: the page is wider than the window")

    def test_a_triton_program_on_a_gpu_is_understood_at_once(self):
        """The records of `record -- python3 columns.py` on an H200: the script's name, what was measured, the line."""
        page = report(self.gpu_records("columns"), "html")
        finding = data_of(page)["summary"]["findings"]["list"][0]
        self.assertEqual((finding["rule"], finding["place"]["line"], finding["basis"]), ("uncoalesced access", 30, "estimated"))
        title, rest, card, cells = self.probed(page, """return [document.querySelector("h1").innerText, document.querySelector("body > details > summary").innerText,
          document.querySelector(".card").innerText, all("#overview .tabulator-row").map((row) => row.innerText)];""")
        self.assertEqual((title, rest), ("columns.py", "2 of 18 kernels measured: 13 % of GPU time (estimated)"))
        for part in ("about 63 % (estimated, 28 to 73 %)", "Uncoalesced access", "column_mean_kernel", "columns.py:30", "Let neighbouring lanes access neighbouring addresses."):
            self.assertIn(part, card)
        self.assertIn("13 % of 1.573 GB", cells[0])
        rows = pixels(page, self.folder.name, height=500)
        self.assert_first_bar(rows, finding["benefit"], "columns.py")

    def gpu_records(self, program):
        records = pathlib.Path(self.folder.name, f"{program}.jsonl")
        records.write_bytes(lzma.decompress((GPU_RECORDS / f"{program}.jsonl.xz").read_bytes()))
        return records

    def test_a_click_on_a_finding_opens_its_kernel_and_flashes_its_line(self):
        """The heat is of the finding: sectors that were transferred and not needed."""
        page = self.planted()
        data = data_of(page)
        i, finding = next((i, each) for i, each in enumerate(data["summary"]["findings"]["list"]) if each["demangled"].startswith("strided("))
        shown = self.probed(page, """const before = document.querySelector("#kernel h2").innerText;
          all(".section").forEach((each) => each.innerText.match(/more finding/) && each.fill());
          document.querySelector(`.card a[href="#finding=FINDING"]`).click();
          await pause(100);
          const [source, ptx] = all("#kernel .code");
          const marked = (pane) => all(".marked", pane).map((line) => ({ line: Number(line.dataset.line), flashes: line.classList.contains("flash"),
            isInside: box(line).y >= box(pane).y && box(line).y < box(pane).y + box(pane).height && box(line).y > 0 && box(line).y < innerHeight }));
          const heat = (line) => [line.querySelector(".value").textContent, getComputedStyle(line.querySelector(".value")).backgroundColor, getComputedStyle(line.querySelector(".text")).backgroundColor];
          return { before, after: document.querySelector("#kernel h2").innerText, source: marked(source), ptx: marked(ptx), legend: document.querySelector(".legend").innerText,
            measure: document.querySelector(".metric").selectedOptions[0].innerText, heat: Object.fromEntries(all(".line", source).map((line) => [line.dataset.line, heat(line)])) };
          """.replace("FINDING", str(i)))
        self.assertNotEqual(shown["before"], shown["after"])
        self.assertEqual(shown["after"], finding["demangled"])
        self.assertEqual(shown["source"], [{"line": finding["place"]["line"], "flashes": True, "isInside": True}])
        self.assertEqual(shown["ptx"], [{"line": finding["place"]["ptx_line"], "flashes": True, "isInside": True}])
        arrays = values_by_spec(data, finding["kernel"])
        wasted = [sectors - min(sectors, max(requests, -(-asked // 32))) for sectors, requests, asked in
                  zip(*(arrays[f"memory_efficiency.{name}"] for name in ("sectors", "requests", "bytes_asked")))]
        lines = next(each for each in data["sites"] if each["kernel"] == finding["kernel"])["instructions"]["line"]
        expected = {}
        for line, value in zip(lines, wasted):
            expected[str(line)] = expected.get(str(line), 0) + value
        self.assertEqual(shown["measure"], "wasted sectors")
        self.assertEqual({line: value for line, (value, _, _) in shown["heat"].items() if value},
                         {line: f"{value:,}" for line, value in expected.items() if value}, "zeros are not shown")
        clear = "rgba(0, 0, 0, 0)"
        for line, (value, beside, text) in shown["heat"].items():
            self.assertEqual(beside == clear, not value, line)
            self.assertTrue(text == clear)
        self.assertIn(f"{max(expected.values()):,} sectors", shown["legend"])

    def test_inlined_code_counts_at_its_call(self):
        with tempfile.TemporaryDirectory() as folder:
            output, data = self.recorded(folder, BUILD.examples / "tests" / "finding_inlined", {})
            page = report(output, "html")
        texts = data["sources"][0]["text"].split("\n")
        load, first, second = (next(i for i, each in enumerate(texts, 1) if f"// LINE: {name}" in each) for name in ("load", "first", "second"))
        at_calls, own = self.probed(page, """const read = () => Object.fromEntries(all(".line", document.querySelector(".code")).map((line) => [line.dataset.line, line.querySelector(".value").textContent]));
          const calls = read();
          document.querySelector(".controls input[type=checkbox]").click();
          return [calls, read()];""", "#finding=1")
        self.assertTrue(at_calls[str(first)] and at_calls[str(second)])
        self.assertEqual((at_calls[str(load)], own[str(first)], own[str(second)]), ("", "", ""))
        number = lambda text: int(text.replace(",", ""))  # noqa: E731
        self.assertEqual(number(own[str(load)]), number(at_calls[str(first)]) + number(at_calls[str(second)]))

    def test_missing_sources_say_how_to_provide_them(self):
        with tempfile.TemporaryDirectory() as folder:
            records = pathlib.Path(folder, "out.jsonl")
            page_records.write(records, kernels=1, sites=4)
            text = str(Text(self.browser(report(records, "html"))[0]))
        self.assertIn("on the machine that compiled the program, or put the file at this path", text)

    def test_kernels_have_five_columns_and_nothing_is_clipped(self):
        page = self.planted()
        data = data_of(page)
        shown = self.probed(page, """const overview = document.querySelector("#overview");
          const cells = all(".tabulator-col-title, .tabulator-cell", overview);
          return { columns: all(".tabulator-col-title", overview).map((each) => each.innerText), clipped: cells.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.innerText),
            width: document.documentElement.scrollWidth - innerWidth, rows: all(".tabulator-row", overview).map((row) => {
              const [name, , traffic] = all(".tabulator-cell", row);
              return [name.innerText, traffic.innerText, box(traffic.querySelector("i")).width / box(traffic.querySelector(".share")).width]; }) };""")
        self.assertEqual(len(shown["columns"]), 5, shown["columns"])
        self.assertEqual(shown["clipped"], [])
        self.assertLessEqual(shown["width"], 0)
        rows = {name.split()[0]: (text, share) for name, text, share in shown["rows"]}
        self.assertEqual(len(rows), 14)
        for kernel in data["kernels"]:
            name = next(each["demangled"] for each in data["sites"] if each["kernel"] == kernel["kernel"]).split("(")[0]
            self.assertAlmostEqual(rows[name][1], kernel["requested"] / kernel["transferred"], delta=0.02)
            self.assertIn(f"{100 * kernel['requested'] / kernel['transferred']:.0f} % of ", rows[name][0])

    def test_a_telephone_shows_the_finding_first(self):
        """At 390 pixels, cards are stacked, headings stay in words, and the page is not wider than the window."""
        page = self.planted().replace("<head>", "<head><script>history.replaceState = () => {};</script>")  # a frame has no address
        frame = f"""<html><body><iframe id="frame" style="width:390px;height:844px;border:0" srcdoc="{html.escape(page)}"></iframe>
          <script>setInterval(() => {{
            const {{ openedMs }} = document.getElementById("frame").contentDocument.documentElement.dataset;
            if (openedMs) document.documentElement.dataset.openedMs = openedMs;
          }}, 20)</script></body></html>"""
        wide, heading, gain, text = self.probed(frame, """const page = document.getElementById("frame").contentDocument;
          return [page.documentElement.scrollWidth, ...[".title h2", ".card .gain", ".card .gain + div"].map((each) => box(page.querySelector(each)))];""")
        self.assertLessEqual(wide, 390)
        self.assertLess(heading["height"], 30)
        self.assertGreater(gain["width"], 300)
        self.assertGreaterEqual(text["y"], gain["y"] + gain["height"])
        self.assertLess(text["y"] + text["height"], 600)

    def test_loops_are_boxes_around_their_blocks(self):
        page = self.planted()
        data = data_of(page)
        kernel = next(i for i, each in enumerate(data["summary"]["specifications"][0]["kernels"]) if each["demangled"].startswith("uneven_rows("))
        name = data["summary"]["specifications"][0]["kernels"][kernel]["kernel"]
        blocks = next(each for each in data["sites"] if each["kernel"] == name)["blocks"]
        headers = {each for each in blocks.get("loop", []) if each is not None} | {i for i, to in enumerate(blocks["branches_to"]) if to == i}
        shown = self.probed(page, """const rects = (kind) => Object.fromEntries(all(`[data-${kind}]`).map((each) => [each.dataset[kind], box(each.querySelector("rect"))]));
          const svg = document.querySelector(".graph svg");
          return { loops: rects("loop"), blocks: rects("block"), scale: box(svg).width / svg.viewBox.baseVal.width };""", f"#kernel={kernel}")
        self.assertTrue(headers)
        self.assertEqual({int(each) for each in shown["loops"]}, headers)
        self.assertGreaterEqual(shown["scale"], 0.79, "text keeps its size")
        for header in headers:
            loop = shown["loops"][str(header)]
            def is_inside(block):
                rect = shown["blocks"][str(block)]
                return (loop["x"] <= rect["x"] and rect["x"] + rect["width"] <= loop["x"] + loop["width"] and
                        loop["y"] <= rect["y"] and rect["y"] + rect["height"] <= loop["y"] + loop["height"])
            def belongs(block):
                while block is not None and block != header:
                    block = (blocks.get("loop") or {block: None})[block]
                return block == header
            self.assertEqual([block for block in range(len(blocks["first"])) if is_inside(block)],
                             [block for block in range(len(blocks["first"])) if belongs(block)])

    def test_keys_dark_and_print(self):
        keys, second, colours, open_ = self.probed(self.planted(), """const press = async (key) => { document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); await pause(50); };
          await press("j");
          await press("j");
          const focused = document.activeElement.hash;
          const names = all("#overview .tabulator-row").map((row) => row.querySelector(".tabulator-cell").innerText.split("(")[0]);
          await press("n");
          const second = [document.querySelector("#kernel h2").innerText.split("(")[0], names[1]];
          await press("/");
          const colour = () => { const { color, backgroundColor } = getComputedStyle(document.body); return [color, backgroundColor]; };
          document.documentElement.dataset.theme = "light";
          const light = colour();
          document.documentElement.dataset.theme = "dark";
          const dark = colour();
          const isFocused = document.activeElement.tagName;
          window.dispatchEvent(new Event("beforeprint"));
          return [[focused, isFocused], second, { light, dark }, all("#kernel details, .card details").map((each) => each.open)];""")
        self.assertEqual(keys, ["#finding=1", "INPUT"])
        self.assertEqual(*second)

        def brightness(text):
            return sum(map(int, re.findall(r"\d+", text)[:3]))
        for theme, (text, page) in colours.items():
            self.assertGreater(abs(brightness(text) - brightness(page)), 450, theme)
            self.assertEqual(brightness(text) < brightness(page), theme == "light")
        self.assertTrue(open_ and all(open_))

    def test_a_large_page_opens_quickly(self):
        with tempfile.TemporaryDirectory() as folder:
            records = pathlib.Path(folder, "out.jsonl")
            page_records.write(records, kernels=2000, sites=50)
            dom, milliseconds = self.browser(report(records, "html"))
        self.assertIn("Kernels (2,000)", dom)
        self.assertLess(len(re.findall("<[a-z]", dom)), 4000, "elements are made only for what is visible")
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
