"""lynxpp.py, the reader of records.

usage: reader_test.py BUILD_FOLDER
"""
import gzip
import json
import math
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import generated  # noqa: E402
import lynxpp  # noqa: E402

TABLE = {
    "record": "launch", "kernel": "k", "launch": 0, "device": "cpu", "grid": [2, 1, 1], "block": [32, 1, 1], "spec": "mine",
    "results": {
        "efficiency": {"value": 0.5, "numerator": 1, "denominator": 2},
        "nothing": {"value": None, "numerator": 0, "denominator": 0},
        "none": None,
        "heat": {"extents": [2, 3], "names": ["BLOCKS", "3"], "values": [0, 1, 2, 10, 11, 12]},
        "lines.line": {"extents": [2], "values": [7, 9], "table": "lines", "fold": "key"},
        "lines.count": {"extents": [2], "values": [100, 200], "table": "lines", "left_out": 3},
        "trace.address": {"extents": [1], "values": [4096], "table": "trace"},
    },
}

# The same launch in a series.
SERIES = {
    "record": "series", "series": 4, "kernel": "k", "device": "cpu", "grid": [2, 1, 1], "block": [32, 1, 1], "spec": "mine",
    "columns": [{"name": "efficiency", "ratio": True}, {"name": "nothing", "ratio": True}, {"name": "none"},
                {"name": "heat", "extents": [2, 3], "names": ["BLOCKS", "3"]}, {"name": "lines.line", "table": "lines", "fold": "key"},
                {"name": "lines.count", "table": "lines"}, {"name": "trace.address", "table": "trace"}],
}
LAUNCH = {
    "record": "launch", "series": 4, "launch": 0,
    "values": [[1, 2], [0, 0], None, [0, 1, 2, 10, 11, 12], [7, 9], {"values": [100, 200], "left_out": 3}, [4096]],
}


class Reader(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.paths = generated.write(self.folder, 3, 2)

    def written(self, *records):
        path = self.folder / "own.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return lynxpp.Records(path)

    def test_launches_name_process_and_device(self):
        records = lynxpp.Records(*self.paths)
        launches = list(records.launches())
        self.assertEqual(len(launches), 6)
        self.assertEqual([launch.rank for launch in launches], [0, 0, 1, 1, 2, 2])
        self.assertEqual(launches[0].host, "node0")
        self.assertEqual(launches[3].results["warp_instructions"], generated.value_of(1, 1))
        self.assertEqual(launches[3].place["ordinal"], 1)
        self.assertAlmostEqual(launches[0].seconds, 700e-6)
        self.assertEqual([process.rank for process in records.processes()], [0, 1, 2])
        self.assertEqual(len(list(records.launches(kernel="kernel1(float*)"))), 3)
        self.assertEqual(len(list(records.launches(spec="other"))), 0)

    def test_metrics_are_the_numeric_results(self):
        metrics = list(lynxpp.Records(*self.paths).metrics())
        self.assertEqual(len(metrics), 12)
        self.assertEqual((metrics[0].name, metrics[0].unit), ("thread_instructions", "instructions"))
        self.assertEqual(sum(metric.value for metric in metrics if metric.name == "warp_instructions"), generated.total(3, 2))

    def test_launches_of_series_are_complete(self):
        records = self.written(SERIES, LAUNCH)
        self.assertEqual([record for record, _ in records], [TABLE])
        self.assertEqual(list(lynxpp.completed([SERIES, LAUNCH, TABLE])), [TABLE, TABLE])

    def test_members_of_a_launch_replace_those_of_its_series(self):
        series = {**SERIES, "columns": [{"name": "n", "unit": "bytes", "fold": "max"}, {"name": "a.mean", "ratio": True, "table": "a"}],
                  "labels": {"a": ["#0", "#1"]}, "notes": ["usual"], "place": {"stream": 3}}  # english: ok
        usual = {"record": "launch", "series": 4, "launch": 0, "values": [5, [[1, 6], [2, 0]]], "place": {"end_us": 9}}  # english: ok
        own = {**usual, "values": [6, [[1], [2]]], "labels": {"a": ["#2"]}, "notes": []}
        first, second = lynxpp.completed([series, usual, own])
        self.assertEqual(first["place"], {"stream": 3, "end_us": 9})  # english: ok
        self.assertEqual((first["units"], first["folds"], first["notes"]), ({"n": "bytes"}, {"n": "max"}, ["usual"]))
        self.assertEqual(first["results"], {"n": 5, "a.mean": {"table": "a", "extents": [2], "labels": ["#0", "#1"], "values": [0.5, None],
                                                               "numerators": [1, 6], "denominators": [2, 0]}})
        self.assertEqual((second["results"]["a.mean"]["labels"], "notes" in second), (["#2"], False))

    def test_launches_without_their_series_are_left_out(self):
        records = self.written(LAUNCH, TABLE)
        self.assertEqual((len(list(records.launches())), records.left_out), (1, 1))

    def test_results_of_every_form(self):
        launch = next(self.written(TABLE).launches())
        self.assertIsNone(launch.rank)
        self.assertEqual(launch.process.file, str(self.folder / "own.jsonl"))
        self.assertEqual(launch.results["efficiency"], (0.5, 1, 2))
        values = {metric.name: metric.value for metric in launch.metrics()}
        self.assertEqual(values["efficiency"], 0.5)
        self.assertTrue(math.isnan(values["nothing"]) and math.isnan(values["none"]))
        heat = launch.results["heat"]
        self.assertEqual((heat[1, 2], heat[4], len(heat)), (12, 11, 6))
        with self.assertRaises(IndexError):
            heat[2, 0]  # pylint: disable=pointless-statement

    def test_tables_and_maps(self):
        records = self.written(TABLE)
        self.assertEqual([table.name for table in records.tables()], ["lines", "trace"])
        lines = next(records.maps())
        self.assertEqual(lines.rows(), [{"line": 7, "count": 100}, {"line": 9, "count": 200}])
        self.assertEqual(lines.by_key()[9]["count"], 200)
        self.assertEqual(lines.left_out, 3)
        self.assertEqual([table.name for table in records.maps()], ["lines"])

    def test_sites_and_coverage(self):
        records = lynxpp.Records(self.paths[0])
        sites = list(records.sites())
        self.assertEqual(len(sites), 2)
        self.assertEqual(list(sites[0].instructions())[1],
                         {"block": 1, "opcode": "ret", "labels": [], "ptx_line": 2, "file": None, "line": 0})
        self.assertEqual(list(sites[0].blocks())[0], {"function": "_Z7kernel0Pf", "first": 0, "instructions": 1})
        self.assertEqual(sum(record["launches"] for record in records.coverage()), 2)

    def test_compressed_and_cut_off(self):
        packed = self.folder / "rank0.jsonl.gz"
        packed.write_bytes(gzip.compress(self.paths[0].read_bytes()))
        self.assertEqual(len(list(lynxpp.Records(packed).launches())), 2)
        self.paths[0].write_bytes(self.paths[0].read_bytes()[:-20])
        records = lynxpp.Records(self.paths[0])
        self.assertEqual(len(list(records)), 7)
        self.assertEqual(records.left_out, 1)

    def test_rows_without_pandas(self):
        records = lynxpp.Records(*self.paths)
        rows = list(records.rows())
        self.assertEqual(len(rows), 12)
        total = sum(row["value"] for row in rows if row["name"] == "warp_instructions" and row["rank"] == 2)
        self.assertEqual(total, sum(generated.value_of(2, kernel) for kernel in range(2)))
        shown = records._repr_html_()
        self.assertEqual(shown.count("<tr>"), 13)
        self.assertIn("<td>warp_instructions</td>", shown)

    def test_frame_says_what_it_needs(self):
        before, sys.modules["pandas"] = sys.modules.get("pandas"), None
        try:
            with self.assertRaisesRegex(lynxpp.Error, r"needs pandas.*\n  hint: pip install pandas, or use rows\(\)"):
                lynxpp.Records(*self.paths).frame()
        finally:
            sys.modules.pop("pandas") if before is None else sys.modules.update(pandas=before)

    def test_frame(self):
        try:
            import pandas  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = lynxpp.Records(*self.paths).frame()
        self.assertEqual(len(frame), 12)
        totals = frame[frame["name"] == "warp_instructions"].groupby("rank")["value"].sum()
        self.assertEqual(totals[2], sum(generated.value_of(2, kernel) for kernel in range(2)))


if __name__ == "__main__":
    sys.argv.pop()
    unittest.main(argv=sys.argv[:1])
