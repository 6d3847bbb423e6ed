"""Records of programs on the cpu device name their process and where and when launches were made.

usage: place_test.py BUILD_FOLDER        exit status 77 if the example programs were not built
"""
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))
import schema  # noqa: E402
from harness import Build, read_json_lines  # noqa: E402

BUILD = Build(sys.argv.pop())


class Place(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def run_program(self, name, output, *arguments, **environment):
        begin = time.time_ns() // 1000
        spec = environment.pop("spec", "instruction_count,basic_block_count")
        run = BUILD.run(BUILD.examples / name, *arguments, spec=spec,
                        environment={"LYNXPP_OUTPUT": str(self.folder / output), **environment})
        self.assertEqual(run.status, 0, run)
        return begin, time.time_ns() // 1000

    def test_records_have_process_device_and_time(self):
        begin, end = self.run_program("streams", "%h.%r.jsonl", OMPI_COMM_WORLD_RANK="3")
        host = os.uname().nodename
        records = read_json_lines(self.folder / f"{host}.3.jsonl")
        for record in records:
            self.assertEqual(schema.complaint(record) if schema.jsonschema else "", "")
        process = records[0]
        self.assertEqual((process["record"], process["host"], process["rank"]), ("process", host, 3))
        self.assertEqual(process["program"], str(BUILD.examples / "streams"))
        self.assertTrue(begin <= process["begin_us"] <= end)
        self.assertEqual({record["process"] for record in records}, {process["process"]})
        device = next(record for record in records if record["record"] == "device")
        self.assertEqual((device["ordinal"], device["device"]), (0, "cpu"))
        launches = [record for record in records if record["record"] == "launch"]
        self.assertLess(records.index(device), records.index(launches[0]))
        self.assertGreater(len({record["place"]["stream"] for record in launches}), 1, "the program uses several")  # english: ok
        for record in launches:
            place = record["place"]  # english: ok
            self.assertTrue(begin <= place["begin_us"] <= place["end_us"] <= end, place)
            self.assertGreater(place["thread"], 0)
        # The records of both specifications of a launch share its number; other launches have other numbers.
        by_number = {}
        for record in launches:
            by_number.setdefault(record["place"]["correlation"], []).append(record)  # english: ok
        for several in by_number.values():
            self.assertEqual(sorted(record["spec"] for record in several), ["basic_block_count", "instruction_count"])
            self.assertEqual(len({(record["kernel"], record["launch"]) for record in several}), 1)
        self.assertEqual(sorted(by_number), list(range(len(by_number))))

    def test_no_rank_without_mpi_and_one_name_for_one_module(self):
        self.run_program("vecadd", "a.jsonl", "1000")
        self.run_program("vecadd", "b.jsonl", "1000")
        first, second = read_json_lines(self.folder / "a.jsonl"), read_json_lines(self.folder / "b.jsonl")
        self.assertNotIn("rank", first[0])
        self.assertNotEqual(first[0]["process"], second[0]["process"])

        def modules(records):
            return {record["place"]["module"] for record in records if record["record"] == "launch"}  # english: ok
        self.assertEqual(len(modules(first)), 1)
        self.assertEqual(modules(first), modules(second))
        self.assertEqual(modules(first), {record["module"] for record in first if record["record"] == "coverage"})

    def test_processes_that_share_a_file_stay_apart(self):
        self.run_program("vecadd", "shared.jsonl", "1000")
        self.run_program("vecadd", "shared.jsonl", "1000")
        records = read_json_lines(self.folder / "shared.jsonl")
        self.assertEqual(sum(record["record"] == "process" for record in records), 2)
        self.assertEqual(len({record["process"] for record in records}), 2)

    def test_a_file_for_each_device(self):
        self.run_program("vecadd", "gpu%d.jsonl", "1000")
        records = read_json_lines(self.folder / "gpu0.jsonl")
        self.assertEqual([records[0]["record"], records[-1]["record"]], ["process", "coverage"])
        self.assertTrue(any(record["record"] == "sites" for record in records))

    def test_numbers_count_launches_from_before_attaching(self):
        self.run_program("tests/attach", "out.jsonl", "instruction_count", "-", "instruction_count", spec=None)
        launches = [record for record in read_json_lines(self.folder / "out.jsonl") if record["record"] == "launch"]
        self.assertEqual([(record["launch"], record["place"]["correlation"]) for record in launches], [(0, 1), (1, 3)])  # english: ok

    def test_launch_has_its_measured_time(self):
        self.run_program("vecadd", "timed.jsonl", "1000", LYNXPP_TIMING="1")
        for record in read_json_lines(self.folder / "timed.jsonl"):
            if record["record"] == "launch":
                self.assertGreater(record["place"]["device_ms"], 0)  # english: ok
                self.assertLessEqual(record["place"]["device_ms"] * 1000,  # english: ok
                                     record["place"]["end_us"] - record["place"]["begin_us"] + 1)  # english: ok


if __name__ == "__main__":
    if not (BUILD.examples / "vecadd").exists():
        print("SKIP: the example programs were not built (no nvcc when the build was configured)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
