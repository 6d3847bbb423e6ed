"""Tests CampProf on the modelled device: six types of transactions against the device's own count,
calibration, bands.

usage: band_test.py BUILD_FOLDER
"""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import Build, clean_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = Build(sys.argv.pop())
MACHINE = "compute_1_3"
FOLDER = tempfile.TemporaryDirectory()
CALIBRATION = pathlib.Path(FOLDER.name, "calibration.json")

if not (BUILD.examples / "partitions").exists() or not (BUILD.folder / "libexec/lynxpp/camping-shared").exists():
    print("SKIP: the example programs are not built (no nvcc)")
    sys.exit(77)


def lynxpp(*arguments, **environment):
    return subprocess.run([BUILD.command, *map(str, arguments)], capture_output=True, text=True, env={**clean_environment(), **environment})


def setUpModule():
    outcome = lynxpp("band", "calibrate", "--machine", MACHINE, "--iterations", 64, "-o", CALIBRATION)
    assert outcome.returncode == 0, outcome.stderr


def valid(schema, value):
    try:
        import jsonschema
    except ImportError:
        return
    jsonschema.Draft202012Validator(json.loads((ROOT / "docs/schema" / schema).read_text())).validate(value)


def bands(*arguments, **environment):
    outcome = lynxpp("band", "-c", CALIBRATION, "--json", *arguments, **environment)
    assert outcome.returncode == 0, outcome.stderr
    found = [json.loads(line) for line in outcome.stdout.splitlines()]
    for band in found:
        valid("band.schema.json", band)
    return {band["kernel"].split("(")[0]: band for band in found}


@functools.cache
def transposes():
    """The bands of two transposes, and their page."""
    page = pathlib.Path(FOLDER.name, "traffic.html")
    return bands("--html", page, "--", BUILD.examples / "partitions", 2), page.read_text()


class Transactions(unittest.TestCase):
    """The specification's counts against those of the clock, which generates transactions itself
    (models/cumapz)."""

    def check(self, app):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "counters.jsonl")
            run = BUILD.run(BUILD.examples / app, environment={"LYNXPP_CPU_CLOCK": MACHINE, "LYNXPP_CPU_COUNTERS": str(output)})
            self.assertEqual(run.status, 0, run)
            counted = [json.loads(line) for line in output.read_text().splitlines()]
        run, records = BUILD.measure(BUILD.examples / app, spec="memory_transactions")
        self.assertEqual(run.status, 0, run)
        results = {(record["kernel"], record["launch"]): record["results"] for record in records.launches}
        self.assertEqual(len(results), len(counted))
        fitting = [launch for launch in counted if "modelled" in launch]  # blocks of at most 512 threads
        self.assertTrue(fitting)
        for launch in fitting:
            found = results[launch["kernel"], launch["launch"]]
            own = launch["modelled"]["transactions"]
            for prefix, kind in (("gld", "loads"), ("gst", "stores")):
                self.assertEqual([found[f"{prefix}_{size}"] for size in (32, 64, 128)], list(own[kind].values()), (app, launch["kernel"]))
                self.assertEqual(found[f"{kind[:-1]}_sectors"], launch["global"][kind]["sectors"], (app, launch["kernel"]))
            self.assertEqual(found["atomic_transactions"], sum(own["atomics"].values()), (app, launch["kernel"]))
            self.assertEqual(found["without_size"], 0)

    def test_every_size_stride_and_order(self):
        for app in ("vecadd", "strides", "transpose", "spmv", "reduction", "partitions", "cliques"):
            with self.subTest(app):
                self.check(app)


class Calibration(unittest.TestCase):
    def test_file_contents(self):
        calibration = json.loads(CALIBRATION.read_text())
        valid("calibration.schema.json", calibration)
        self.assertTrue(calibration["modelled"])
        self.assertEqual((calibration["multiprocessors"], calibration["partitions"], calibration["most_warps"]), (30, 8, 32))
        self.assertEqual(len(calibration["samples"]), 12 * 24)

    def test_reads_the_example_of_an_h100(self):
        file = ROOT / "examples/calibrations/h100.json"
        calibration = json.loads(file.read_text())
        valid("calibration.schema.json", calibration)
        self.assertFalse(calibration["modelled"])
        run = lynxpp("band", "-c", file, "--json", "--gld-64", 65536, "--warps", 16, "--time", 0.35)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["device"], calibration["device"])
        self.assertGreater(len(json.loads(run.stdout)["points"]), 30)

    def test_camped_takes_six_to_eight_times_as_long(self):
        """At the maximum number of warps, as in CampProf's Figure 3."""
        times = {(s["direction"], s["bytes"], s["placement"]): s["ms"] for s in json.loads(CALIBRATION.read_text())["samples"] if s["warps"] == 32}
        for direction in ("read", "write"):
            for size in (32, 64, 128):
                ratio = times[direction, size, "camped"] / times[direction, size, "spread"]
                self.assertTrue(6 <= ratio <= 8, (direction, size, ratio))


class Bands(unittest.TestCase):
    def test_the_degree_falls_as_camping_is_removed(self):
        found, _ = transposes()
        coalesced, diagonal = found["transpose_coalesced"], found["transpose_diagonal"]
        self.assertTrue(coalesced["modelled"])
        self.assertEqual(coalesced["loads"], {"32": 0, "64": 1024 * 1024 / 16, "128": 0})
        self.assertEqual(coalesced["warps"], 32)
        self.assertGreater(coalesced["degree"], diagonal["degree"])
        self.assertLessEqual(diagonal["degree"], 0.15)
        # Only its writes, which cause the camping.
        self.assertTrue(0.2 <= coalesced["degree_if_only_stores"] <= 0.8, coalesced)

    def test_the_applications_of_the_paper(self):
        """Electrostatics next to the best line; cliques, with lists in rows of 1 KB, between the lines."""
        (electrostatics,) = bands("--", BUILD.examples / "electrostatics", 16, EXAMPLE_BLOCK="512").values()
        self.assertEqual(electrostatics["warps"], 16)
        self.assertLessEqual(abs(electrostatics["degree"]), 0.15)
        (cliques,) = bands("--", BUILD.examples / "cliques", 4000, EXAMPLE_BLOCK="512", EXAMPLE_ROW="256").values()
        self.assertEqual(cliques["warps"], 16)
        self.assertTrue(0.2 <= cliques["degree"] <= 0.8, cliques)

    def test_scattered_lanes_have_a_band_at_every_number_of_warps(self):
        """For lists in rows of 1 KB, the lines of few and of many warps predict each other."""
        with tempfile.TemporaryDirectory() as data:
            outcome = lynxpp("band", "calibrate", "--machine", MACHINE, "--iterations", 50, "--scattered", XDG_DATA_HOME=data)
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            file = pathlib.Path(data, "lynxpp/calibrations", f"{MACHINE}-scattered.json")
            calibration = json.loads(file.read_text())
            valid("calibration.schema.json", calibration)
            self.assertEqual((calibration["loop"], calibration["transactions_per_warp"]), ("scattered", 128))
            for sample in calibration["samples"]:
                if sample["placement"] == "camped" and sample["bytes"] == 32:
                    spread, = (s["ms"] for s in calibration["samples"] if s == {**sample, "placement": "spread", "ms": s["ms"]})
                    self.assertGreater(sample["ms"], 1.5 * spread, "also for one warp and few iterations")
            found = {}
            for warps in (2, 16):
                outcome = lynxpp("band", "-c", f"{MACHINE}-scattered", "--json", "--", BUILD.examples / "cliques", 4000, EXAMPLE_BLOCK=str(32 * warps),
                                 EXAMPLE_ROW="256", XDG_DATA_HOME=data)
                self.assertEqual(outcome.returncode, 0, outcome.stderr)
                band = json.loads(outcome.stdout)
                self.assertEqual(band["warps"], warps)
                self.assertTrue(0.2 <= band["degree"] <= 0.8, band)
                found[warps] = band
            predicted = {point["warps"]: point["application_ms"] for point in found[16]["points"]}
            self.assertLess(abs(predicted[2] / found[2]["ms"] - 1), 0.3)

    def test_the_degree_falls_step_by_step(self):
        """From one concurrently written partition to all eight."""
        degrees = [bands("--", BUILD.examples / "tests/skewed_transpose", 2, skew)["skewed_transpose"]["degree"] for skew in (4, 16, 32)]
        self.assertEqual(degrees, sorted(degrees, reverse=True))
        self.assertGreater(degrees[0], degrees[-1])

    def test_hot_lines_and_hot_atomics_are_named(self):
        found = bands("--", BUILD.examples / "tests/hot")
        (line,), spread = found["one_line"]["hot"], found["spread"]["hot"]
        self.assertEqual(spread, [])
        # 16 reads of 256 warps, and a store of each to another address.
        self.assertEqual((line["kind"], line["offset"], line["count"]), ("line", 512, 256 * 16))
        self.assertAlmostEqual(line["share"], 16 / 17)
        self.assertRegex(line["array"], r"^#0 parameter 0")
        (site,) = line["sites"]
        self.assertRegex(site["site"], r"^ld\.global\S* at hot\.cu:\d+$")
        self.assertEqual(site["count"], line["count"])

    def test_atomics_alone_have_no_band_but_are_named(self):
        outcome = lynxpp("band", "-c", CALIBRATION, "-k", "one_counter", "--json", "--", BUILD.examples / "tests/hot")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        (atomics,) = json.loads(outcome.stdout)["hot"]
        self.assertEqual((atomics["kind"], atomics["offset"], atomics["count"], atomics["share"]), ("atomics", 8, 64 * 128, 1))
        self.assertRegex(atomics["sites"][0]["site"], r"^(red|atom)\.\S* at \S+:\d+$")

    def test_traffic_by_partition(self):
        """Figures 11 and 12 of CampProf: both show all transactions by partition; the first blocks each make
        equally many."""
        found, text = transposes()
        for kernel in ("transpose_coalesced", "transpose_diagonal"):
            traffic = found[kernel]["traffic"]
            counted = sum(found[kernel]["loads"].values()) + sum(found[kernel]["stores"].values())
            self.assertEqual(sum(map(sum, traffic["over_time"])), counted)
            self.assertEqual({len(row) for row in traffic["over_time"] + traffic["of_block"]}, {8})
            # All displayed blocks have done the same.
            each = sum(traffic["of_block"][0])
            self.assertGreater(each, 0)
            self.assertEqual({sum(row) for row in traffic["of_block"]}, {each})
        self.assertEqual(text.count("over modelled time"), 2)
        self.assertIn("partition 7", text)

    def test_a_program_without_kernels(self):
        outcome = lynxpp("band", "-c", CALIBRATION, "--", "/bin/true")
        self.assertEqual(outcome.returncode, 3)
        self.assertIn("launched no kernel", outcome.stderr)

    def test_an_unknown_kernel(self):
        outcome = lynxpp("band", "-c", CALIBRATION, "-k", "nobody", "--", BUILD.examples / "vecadd")
        self.assertEqual(outcome.returncode, 3)
        self.assertIn("launched no kernel", outcome.stderr)

    def test_launches_of_several_shapes_have_no_common_band(self):
        outcome = lynxpp("band", "-c", CALIBRATION, "--", BUILD.examples / "vecadd")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("different grids or blocks", outcome.stderr)


class AddedArithmetic(unittest.TestCase):
    """`--arithmetic`: the added instructions are executed, change no visible result, and show what a kernel
    waits for."""

    def specification(self, count):
        text = (ROOT / "observe/added_arithmetic.cod").read_text()
        one = "  spent += 1.0f;\n"
        self.assertIn(one, text)
        path = pathlib.Path(FOLDER.name, f"arithmetic_{count}.cod")
        path.write_text(text.replace(one, count * one))
        return path

    def test_results_are_the_same_and_every_addition_is_executed(self):
        for app in ("transpose", "spmv", "reduction", "strides"):
            plain, counted = BUILD.count(BUILD.examples / app)
            output = pathlib.Path(FOLDER.name, "counters.jsonl")
            output.unlink(missing_ok=True)
            run, records = BUILD.measure(BUILD.examples / app, spec=self.specification(3), environment={"LYNXPP_CPU_COUNTERS": str(output)})
            self.assertEqual((run.status, run.stdout), (0, plain.stdout), app)
            self.assertTrue(records.launches)
            self.assertEqual({record["results"]["never"] for record in records.launches}, {0})
            _, seen = BUILD.measure(BUILD.examples / app, spec=ROOT / "observe/access_counts.cod")
            expected = {(record["kernel"], record["launch"]): record["results"] for record in seen.launches}
            for launch, before in zip(map(json.loads, output.read_text().splitlines()), counted):
                results = expected[launch["kernel"], launch["launch"]]
                self.assertEqual(results["instructions"], before["warp_instructions"], app)
                requests = sum(before["global"][kind]["requests"] for kind in ("loads", "stores", "atomics"))
                self.assertEqual(results["accesses"], requests, (app, launch["kernel"]))
                self.assertEqual(launch["opcodes"]["add.rn.f32"], 3 * self.lanes(before), (app, launch["kernel"]))

    @staticmethod
    def lanes(counted):
        """Returns the lanes' executions of accesses to global memory."""
        return sum(count for opcode, count in counted["opcodes"].items() if re.match(r"(ld|st|atom|red)\.(\w+\.)*global\b", opcode))

    def test_ptxas_keeps_them(self):
        ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
        if not pathlib.Path(ptxas).exists():
            self.skipTest("ptxas is not installed")

        def code_bytes(count):
            ptx, cubin = (pathlib.Path(FOLDER.name, f"kept.{kind}") for kind in ("ptx", "cubin"))
            made = lynxpp("ptx", "instrument", BUILD.examples / "vecadd.ptx", "-s", self.specification(count), "--sm", 90, "-o", ptx)
            self.assertEqual(made.returncode, 0, made.stderr)
            subprocess.run([ptxas, "-arch=sm_90", ptx, "-o", cubin], check=True)
            sections = subprocess.run(["readelf", "-SW", cubin], check=True, capture_output=True, text=True).stdout
            return int(re.search(r"\.text\.\S+\s+PROGBITS\s+\w+\s+\w+\s+(\w+)", sections)[1], 16)

        # vecadd has 3 accesses; an instruction has 16 bytes, and code is padded to 128.
        self.assertGreaterEqual(code_bytes(65) - code_bytes(1), 3 * 64 * 16 - 128)

    def test_memory_bound_or_not(self):
        memory = bands("--arithmetic", 4, "-k", "spmv_thread_per_row", "--", BUILD.examples / "spmv")["spmv_thread_per_row"]
        self.assertLess(memory["arithmetic"]["part_of_instructions"], 0.5)
        added = memory["arithmetic"]
        more, longer = 4 * added["accesses"] / added["instructions"], (added["after_ms"] - added["before_ms"]) / memory["ms"]
        self.assertAlmostEqual(added["part_of_instructions"], longer / more)
        text = lynxpp("band", "-c", CALIBRATION, "--arithmetic", 4, "-k", "transpose_diagonal", "--", BUILD.examples / "partitions", 2).stdout
        self.assertIn("near both of its limits", text)
        self.assertRegex(text, r"with 4 additions at each access \(\S+ % more instructions\) its time changes by \S+ %: not memory bound, \d+ % of")
        matmul = bands("--arithmetic", 1, "--", BUILD.examples / "matmul")["matmul_tiled"]
        self.assertIsNone(matmul["arithmetic"])
        self.assertIn("too few to determine if it is memory bound", " ".join(matmul["notes"]))

    def test_arithmetic_requires_a_program(self):
        outcome = lynxpp("band", "-c", CALIBRATION, "--arithmetic", 4, "--gld-32", 1, "--warps", 1)
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("--arithmetic requires a program", outcome.stderr)


class Caches(unittest.TestCase):
    """CacheProf: `lynxpp band --cache` against arithmetic on the machine's parameters."""

    def caches(self, *arguments):
        outcome = lynxpp("band", "--cache", "--json", *arguments)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        found = [json.loads(line) for line in outcome.stdout.splitlines()]
        for kernel in found:
            valid("cache-band.schema.json", kernel)
        return found

    def test_values_read_once(self):
        vecadd = self.caches("-k", "vecadd", "--", BUILD.examples / "vecadd")[0]
        l1, l2 = vecadd["caches"]
        self.assertEqual((l1["cache"], l1["hits"], l2["cache"]), ("L1", 0, "L2"))
        self.assertEqual((l1["place"], l1["saved_by_locality_ms"]), (1, 0))  # each sector is new: no locality
        self.assertEqual(l2["accesses"], vecadd["sectors"])
        self.assertEqual(vecadd["wasted_by_sectors"], 32 * vecadd["sectors"] - vecadd["bytes_asked"])

    def test_the_band_follows_from_counts_and_figures(self):
        timing = json.loads((ROOT / "models/machines/compute_9_0.json").read_text())
        channels, timing = timing["global"]["channels"], timing["timing"]
        l2_hit = timing["l2"]["occupancy"] / (timing["core_mhz"] * 1e3 * channels)
        memory = timing["memory"]
        l2_miss = (memory["overhead"] + 32 / memory["bytes_per_cycle"]) / (timing["memory_mhz"] * 1e3 * channels)
        l1_hit = memory["gap"] / (timing["core_mhz"] * 1e3 * timing["multiprocessors"])
        costs = {"L1": (l1_hit, max(l1_hit, l2_hit)), "L2": (l2_hit, max(l2_hit, l2_miss))}
        page = pathlib.Path(FOLDER.name, "caches.html")
        for kernel in self.caches("--html", page, "--", BUILD.examples / "transpose"):
            for cache in kernel["caches"]:
                hit, miss = costs[cache["cache"]]
                n, h, f = cache["accesses"], cache["hits"], cache["first_estimated"]
                self.assertAlmostEqual(cache["all_hits_ms"] / (n * hit), 1)
                self.assertAlmostEqual(cache["all_misses_ms"] / (n * miss), 1)
                self.assertAlmostEqual(cache["as_it_is_ms"] / (h * hit + (n - h) * miss), 1)
                self.assertAlmostEqual(cache["reachable_ms"] / ((n - f) * hit + f * miss), 1)
                self.assertLessEqual(f, n - h)
                self.assertEqual([each["ways"] for each in cache["hits_by_ways"]],
                                 [w * timing[cache["cache"].lower()]["ways"] // 2 for w in (1, 2, 4, 8)])
        self.assertIn("<svg", page.read_text())

    def test_stores_hit_and_an_emptied_cache_holds_nothing(self):
        """With ncu's default of emptying the L2 before each kernel, a copy's reads miss and its writes
        hit."""
        for kernel in self.caches("--cold", "-k", "strided_copy", "--", BUILD.examples / "strides"):
            l1, l2 = kernel["caches"]
            # Blocks of several multiprocessors occasionally share a sector.
            self.assertLessEqual(l2["accesses"] - l2["hits"], l1["accesses"] - l1["hits"])
            self.assertAlmostEqual(l2["hits"] / l2["accesses"], 0.5, delta=0.02)
        twice = [self.caches(*options, "-k", "transpose_tiled", "--", BUILD.examples / "transpose") for options in ([], ["--cold"])]
        for kept, emptied in zip(*twice):
            self.assertGreater(kept["caches"][1]["hits"], emptied["caches"][1]["hits"])
            self.assertEqual(kept["caches"][1]["accesses"], emptied["caches"][1]["accesses"])
        outcome = lynxpp("band", "--cold", "-c", CALIBRATION, "--gld-32", 1, "--warps", 1)
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("--cold requires --cache", outcome.stderr)

    def test_a_machine_without_caches(self):
        outcome = lynxpp("band", "--cache", "-m", "compute_1_3", "--", BUILD.examples / "vecadd")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("no caches", outcome.stderr)

    def test_requires_a_program(self):
        outcome = lynxpp("band", "--cache")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("--cache requires a program", outcome.stderr)


if __name__ == "__main__":
    os.environ["TMPDIR"] = FOLDER.name
    unittest.main(argv=sys.argv[:1])
