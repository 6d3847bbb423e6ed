"""Traces streamed to files while kernels run: nothing is lost, and the program's behaviour is unchanged.

usage: streams_test.py BUILD_FOLDER
"""
import collections
import json
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(ROOT / "python")]
sys.dont_write_bytecode = True
import lynxpp  # noqa: E402
from harness import Build, clean_environment  # noqa: E402

BUILD = Build(sys.argv.pop())
SPMV = BUILD.examples / "spmv"
TRACE = ROOT / "examples/specs/memory_trace.cod"

if not SPMV.exists():
    print(f"SKIP: {SPMV} is not built")
    sys.exit(77)


def rows_of(record, table):
    """Returns the rows of a table in a record, as dictionaries by column name."""
    columns = {name.split(".", 1)[1]: result["values"] for name, result in record["results"].items() if name.startswith(table + ".")}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


class Streams(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.seen = self.folder / "seen"

    def traces(self):
        """One kernel's."""
        return {"LYNXPP_TRACE": str(self.seen), "LYNXPP_KERNELS": "spmv_shared"}

    def environment(self):
        return {**clean_environment(), **self.traces(), "LD_PRELOAD": str(BUILD.library), "LYNXPP_DEVICE": "cpu", "LYNXPP_SPEC": "memory_trace"}

    def larger(self):
        """Runs memory_trace with capacity for all accesses, in a separate file."""
        path = self.folder / "larger.cod"
        text = TRACE.read_text()
        for old in ("ACCESSES = 16384", "LANE_ADDRESSES = 32768"):
            self.assertIn(old, text)
            text = text.replace(old, old.split("=")[0] + "= 1000000")
        path.write_text(text)
        return path

    def traced(self, specifications, *arguments, environment=None):
        run, records = BUILD.measure(SPMV, *arguments, spec=specifications, environment={**self.traces(), **(environment or {})})
        self.assertEqual(run.status, 0, run)
        launches = {record["spec"]: record for record in records.launches}
        streams = {(stream.spec, stream.trace): stream for stream in lynxpp.streams(self.seen)} if self.seen.exists() else {}
        return run, launches, streams

    def test_all_entries_are_there(self):
        native = BUILD.run(SPMV, 3000)
        run, launches, streams = self.traced(f"memory_trace,{self.larger()}", 3000)
        self.assertEqual(run.stdout, native.stdout, "the output differs from that without instrumentation")
        whole = rows_of(launches["larger"], "accesses")
        lanes = rows_of(launches["larger"], "lane_addresses")
        self.assertEqual((launches["larger"]["results"]["not_traced"], launches["larger"]["results"]["addresses_not_traced"]), (0, 0))
        self.assertGreater(len(whole), 16384)
        self.assertGreater(len(lanes), 0)
        # The same launch's own trace, entry by entry.
        for name, rows in (("accesses", whole), ("lane_addresses", lanes)):
            stream = streams["larger", name]
            self.assertEqual(stream.appended, len(rows))
            entries = list(stream.entries())
            self.assertEqual([number for number, _ in entries], list(range(len(rows))))
            self.assertEqual([entry for _, entry in entries], rows)
        # The other specification's trace, which holds only a part, in another order and at other times.
        accesses = [entry for _, entry in streams["memory_trace", "accesses"].entries()]
        addresses = collections.defaultdict(list)
        for _, entry in streams["memory_trace", "lane_addresses"].entries():
            addresses[entry["access"]].append((entry["lane"], entry["address"]))
        expected_addresses = collections.defaultdict(list)
        for row in lanes:
            expected_addresses[row["access"]].append((row["lane"], row["address"]))

        def without_time(rows, of_lanes):
            return sorted((*(value for name, value in row.items() if name != "time"), *sorted(of_lanes[number])) for number, row in enumerate(rows))
        self.assertEqual(without_time(accesses, addresses), without_time(whole, expected_addresses))
        results = launches["memory_trace"]["results"]
        self.assertEqual((results["traced"], results["not_traced"], results["addresses_not_traced"]), (16384, 0, 0))
        self.assertEqual(rows_of(launches["memory_trace"], "accesses"), accesses[:16384], "the first ones are in the record, too")
        file, = self.seen.iterdir()
        self.assertIn(f"'accesses': {len(accesses) - 16384} more entries are in {file}", launches["memory_trace"]["notes"])

    def test_without_a_folder_nothing_changes(self):
        _, records = BUILD.measure(SPMV, 3000, spec="memory_trace", environment={"LYNXPP_KERNELS": "spmv_shared"})
        results = records.launches[0]["results"]
        self.assertEqual(results["not_traced"], sum(results["requests"]["values"]) - 16384)
        self.traced("instruction_count", 1000)
        self.assertFalse(self.seen.exists(), "a specification without traces makes no files")

    def test_the_command_prints_the_same_as_the_reader(self):
        _, _, streams = self.traced("memory_trace", 200)
        stream = streams["memory_trace", "accesses"]
        command = BUILD.run(BUILD.command, "report", "trace", self.seen, "-t", "accesses", "--format", "json", preload=False)
        self.assertEqual((command.status, command.stderr), (0, ""))
        lines = [json.loads(line) for line in command.stdout.splitlines()]
        self.assertEqual([(line["entry"], line["kernel"], line["launch"]) for line in lines],
                         [(number, stream.kernel, stream.launch) for number, _ in stream.entries()])
        self.assertEqual([{name: line[name] for name in stream.fields} for line in lines], [entry for _, entry in stream.entries()])
        table = BUILD.run(BUILD.command, "report", "trace", self.seen, "-t", "lane_addresses", preload=False).stdout.decode().splitlines()
        self.assertEqual(table[0], "process,kernel,launch,entry,lane_addresses.access,lane_addresses.lane,lane_addresses.address")
        self.assertEqual([tuple(map(int, line.split(",")[-3:])) for line in table[1:]],
                         [tuple(entry.values()) for _, entry in streams["memory_trace", "lane_addresses"].entries()])
        listed = BUILD.run(BUILD.command, "report", "trace", self.seen, "--list", preload=False).stdout.decode().splitlines()
        self.assertEqual(len(listed), 3)
        self.assertIn(str(stream.appended), listed[1])
        other = BUILD.run(BUILD.command, "report", "trace", self.seen, "-k", "no_such_kernel", preload=False)
        self.assertEqual((other.status, other.stdout), (0, b""))

    def test_a_full_disk_is_reported_and_the_program_continues(self):
        native = BUILD.run(SPMV, 3000)
        limit = 64 * 1024
        run = subprocess.run([SPMV, "3000"], env={**self.environment(), "LYNXPP_CPU_CACHE": "off"}, capture_output=True, timeout=300,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual((run.returncode, run.stdout), (0, native.stdout), run.stderr.decode())
        self.assertIn(b": File too large", run.stderr)
        file, = self.seen.iterdir()
        self.assertLessEqual(file.stat().st_size, limit)
        for stream in lynxpp.streams(self.seen):
            self.assertEqual([number for number, _ in stream.entries()], list(range(sum(1 for _ in stream.entries()))))

    def test_a_killed_process_leaves_complete_blocks(self):
        program = subprocess.Popen([SPMV, "200000"], env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            def is_there():
                return self.seen.exists() and any(file.stat().st_size > 200_000 for file in self.seen.iterdir())
            while program.poll() is None and not is_there():
                time.sleep(0.01)
            self.assertIsNone(program.poll(), "the program has ended before anything was streamed")
        finally:
            program.send_signal(signal.SIGKILL)
            program.wait()
        streams = {stream.trace: stream for stream in lynxpp.streams(self.seen)}
        self.assertIsNone(streams["accesses"].appended, "the launch has not ended")
        numbers = [number for number, _ in streams["accesses"].entries()]
        self.assertGreater(len(numbers), 1000)
        self.assertEqual(numbers, list(range(len(numbers))))
        listed = BUILD.run(BUILD.command, "report", "trace", self.seen, "--list", preload=False)
        self.assertEqual(listed.status, 0, listed)
        self.assertIn(str(len(numbers)), listed.stdout.decode())

    def test_reports_errors(self):
        missing = BUILD.run(BUILD.command, "report", "trace", self.folder / "nothing", preload=False)
        self.assertEqual(missing.status, 1)
        self.assertIn("does not exist", missing.stderr)
        (self.folder / "text.trace").write_text("this is a text that is no trace")
        text = BUILD.run(BUILD.command, "report", "trace", self.folder, preload=False)
        self.assertEqual(text.status, 1)
        self.assertIn("is not a file of streamed traces", text.stderr)
        run, records = BUILD.measure(SPMV, 200, spec="memory_trace", environment={**self.traces(), "LYNXPP_TRACE": str(self.folder / "text.trace")})
        self.assertEqual(run.status, 0, run)
        notes = records.launches[0]["notes"]
        self.assertTrue(any(": Not a directory" in note for note in notes), notes)
        run = BUILD.run(SPMV, 200, spec="memory_trace", environment={"LYNXPP_TRACE": str(self.folder / "%q")})
        self.assertIn("unknown placeholder '%q'", run.stderr)


if __name__ == "__main__":
    unittest.main()
