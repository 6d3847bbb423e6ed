"""Forked processes through `lynxpp run` and `lynxpp check-run`: each process that launches writes its own
records and its own table; the others write and print nothing.

Arguments: the build folder.
"""
import collections
import pathlib
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, read_json_lines  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ENDINGS = ("_exit", "exit", "return", "SIGTERM")
TABLE = "== lynxpp: instruction_count on "


class Forks(unittest.TestCase):
    build = None

    def measured(self, *command, device="cpu", environment=None):
        """Returns the run, and for each process id the launches in its records, in order."""
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            run = self.build.run(self.build.command, "run", "-d", device, "-s", "instruction_count", "-o", output, "--", *command,
                                 preload=False, environment=environment)
            records = read_json_lines(output)
        numbers = {record["process"]: record["pid"] for record in records if record["record"] == "process"}
        self.assertEqual(len(set(numbers.values())), len(numbers), "each process has a number of its own")
        launches = collections.defaultdict(list)
        coverage = collections.Counter()
        for record in records:
            if record["record"] == "launch":
                launches[numbers[record["process"]]].append(record["launch"])
            if record["record"] == "coverage":
                coverage[numbers[record["process"]]] += record["instrumented_launches"]
        self.assertEqual({number: len(each) for number, each in launches.items()}, dict(coverage), f"coverage\n{run}")
        return run, dict(launches)

    def program(self, *arguments):
        return self.build.examples / "tests" / "forks", *arguments

    def expect_whole_tables(self, run, tables):
        """Each table is contiguous, whatever other processes write."""
        parts = run.stderr.split(TABLE)[1:]
        self.assertEqual(len(parts), tables, run)
        for part in parts:
            self.assertEqual(part.splitlines()[0], "cpu ==")
            for column in ("thread_instructions", "memory", "barriers", "atomics"):
                self.assertEqual(part.count(column), 1, run)
        self.assertNotIn("no kernel launch", run.stderr)

    def test_workers_launch(self):
        for ending in ENDINGS:
            with self.subTest(ending=ending):
                run, launches = self.measured(*self.program("before", ending))
                self.assertEqual(run.status, 0, run)
                self.assertEqual(sorted(launches.values()), [[0], [0, 1], [0, 1, 2]])
                self.expect_whole_tables(run, 3)

    def test_a_worker_that_launches_nothing_is_silent(self):
        run, launches = self.measured(*self.program("idle", "exit"))
        self.assertEqual(sorted(launches.values()), [[0, 1], [0, 1, 2]])
        self.expect_whole_tables(run, 2)

    def test_workers_of_a_process_that_has_launched(self):
        for ending in ENDINGS:
            with self.subTest(ending=ending):
                run, launches = self.measured(*self.program("after", ending))
                self.assertEqual(run.status, 0, run)
                self.assertEqual(list(launches.values()), [[0, 1, 2, 3, 4]])
                self.expect_whole_tables(run, 1)

    def test_a_child_cannot_use_the_device_of_its_parent(self):
        """Fails in the same way as on a GPU."""
        for ending in ENDINGS:
            with self.subTest(ending=ending):
                run, launches = self.measured(*self.program("nested", ending))
                self.assertIn("the child of a worker: cudaErrorInitializationError", run.stderr)
                self.assertEqual(list(launches.values()), [[0, 1]])
                self.expect_whole_tables(run, 1)

    def test_a_worker_ends_while_a_kernel_of_its_parent_runs(self):
        for ending in ENDINGS:
            with self.subTest(ending=ending):
                run, launches = self.measured(*self.program("busy", ending))
                self.assertEqual(run.status, 0, run)
                self.assertEqual(list(launches.values()), [[0]])
                self.assertNotIn("cpu device is still running", run.stderr)

    def test_one_file_per_process(self):
        with tempfile.TemporaryDirectory() as folder:
            self.build.run(self.build.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", f"{folder}/%p.jsonl", "--",
                           *self.program("before", "_exit"), preload=False)
            written = {int(path.stem): read_json_lines(path) for path in pathlib.Path(folder).iterdir() if path.stat().st_size}
        for number, records in written.items():
            self.assertEqual([record["pid"] for record in records if record["record"] == "process"], [number])
        self.assertEqual(sorted(sum(record["record"] == "launch" for record in records) for records in written.values()), [1, 2, 3])

    def test_without_the_command(self):
        run = self.build.run(*self.program("before", "exit"), spec="instruction_count")
        self.expect_whole_tables(run, 3)

    def test_checked_workers(self):
        """Findings belong to the process that caused them; a worker does not report its parent's."""
        run = self.build.run(self.build.command, "check-run", "--", *self.program("before", "SIGTERM"), preload=False)
        summaries = sorted(line for line in run.stderr.splitlines() if line.startswith("== lynxpp check: "))
        self.assertEqual(summaries, ["== lynxpp check: no findings in 1 launch ==", "== lynxpp check: no findings in 2 launches ==",
                                     "== lynxpp check: no findings in 3 launches =="], run)
        run = self.build.run(self.build.command, "check-run", "--checks", "memory,leak", "--", *self.program("after", "exit"),
                             preload=False)
        self.assertEqual(run.stderr.count("== lynxpp check: "), 1, run)

    def test_driver_api(self):
        program = (sys.executable, HERE / "driver_program.py")
        for device in ("cpu", "auto"):
            run, launches = self.measured(*program, "before", HERE / "work.ptx", device=device)
            self.assertEqual(run.stdout, b"child of a worker: 3 3\n" * 3, run)
            self.assertEqual(sorted(launches.values()), [[0], [0, 1], [0, 1, 2]])
            self.expect_whole_tables(run, 3)
            run, launches = self.measured(*program, "after", HERE / "work.ptx", device=device)
            self.assertEqual(list(launches.values()), [[0, 1, 2, 3, 4]])
            self.expect_whole_tables(run, 1)


if __name__ == "__main__":
    Forks.build = Build(sys.argv.pop(1))
    if not (Forks.build.examples / "tests" / "forks").exists():
        sys.exit(77)
    unittest.main()
