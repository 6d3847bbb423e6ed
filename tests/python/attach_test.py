"""lynxpp.attach and lynxpp.budget in a process that lynxpp is preloaded into. Each case is a program.

usage: attach_test.py BUILD_FOLDER
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

from support import BUILD, ROOT
import lynxpp

BEGIN = """import os, sys, warnings
sys.path[:0] = {paths!r}
import launches, lynxpp
launches.begin()
mm, other = launches.Kernel("mm_kernel", 2), launches.Kernel("other", 5)
if "LYNXPP_MEMORY_BUDGET" not in os.environ:
    launches.provide_memory()
def results(run):
    return [(launch.kernel, launch.spec, launch.launch, launch.grid[0], launch.results.get("thread_instructions")) for launch in run.launches()]
""".format(
    paths=[str(ROOT / "python"), str(ROOT / "tests/python")]
)


class Case(unittest.TestCase):
    def run_program(self, text, preload=True, **variables):
        run = BUILD.run(
            sys.executable,
            "-B",
            "-c",
            BEGIN + textwrap.dedent(text),
            preload=preload,
            environment={"LYNXPP_TABLE": "0", "LYNXPP_HOME": str(BUILD.folder), **variables},
        )
        self.assertEqual(run.status, 0, run)
        self.assertNotIn("Traceback", run.stderr)
        return [
            eval(line) for line in run.stdout.decode().splitlines()
        ], run.stderr  # pylint: disable=eval-used


class Attach(Case):
    def test_measures_the_launches_in_the_statement(self):
        (inside, after), _ = self.run_program(
            """
            mm.launch()
            with lynxpp.attach("instruction_count") as run:
                mm.launch(2)
                other.launch(3, 64)
            mm.launch()
            print(results(run))
            print([(metric.name, metric.value, metric.unit) for metric in run.metrics() if metric.launch.kernel == "other"][:3])
        """
        )
        self.assertEqual(
            inside,
            [("mm_kernel", "instruction_count", 0, 2, 2 * 64), ("other", "instruction_count", 0, 3, 5 * 192)],
        )
        self.assertEqual(
            after,
            [
                ("thread_instructions", 960, "instructions"),
                ("warp_instructions", 30, "instructions"),
                ("average_per_thread", 5, "instructions"),
            ],
        )

    def test_several_specifications_and_statements(self):
        (first, second, again), _ = self.run_program(
            """
            with lynxpp.attach(["instruction_count", "warp_timeline"]) as one:
                mm.launch()
            with lynxpp.attach("instruction_count") as two:
                other.launch()
                with_one = results(one)
            print(results(one))
            print(results(two))
            print(with_one)
        """
        )
        self.assertEqual(
            [result[:2] for result in first],
            [("mm_kernel", "instruction_count"), ("mm_kernel", "warp_timeline")],
        )
        self.assertEqual([result[0] for result in second], ["other"])
        self.assertEqual(again, first)  # does not take the second statement's results

    def test_kernels_are_selected(self):
        for control in ("0", "1"):
            with self.subTest(control=control), tempfile.TemporaryDirectory() as folder:
                output = pathlib.Path(folder, "out.jsonl")
                (only, both), _ = self.run_program(
                    """
                    with lynxpp.attach("instruction_count", kernels="^m+_") as run:
                        mm.launch()
                        other.launch()
                    print(results(run))
                    with lynxpp.attach("instruction_count") as run:
                        mm.launch()
                        other.launch()
                    print(results(run))
                """,
                    LYNXPP_CONTROL=control,
                    LYNXPP_OUTPUT=str(output),
                )
                self.assertEqual([result[0] for result in only], ["mm_kernel"])
                self.assertEqual([result[0] for result in both], ["mm_kernel", "other"])
                measured = [launch.kernel for launch in lynxpp.Records(output).launches()]
                # With its socket, lynxpp instruments only the selected kernels.
                self.assertEqual(measured.count("other"), 1 if control == "1" else 2)

    def test_launches_that_ran_uninstrumented_are_reported(self):
        (unmeasured, warned, failed), _ = self.run_program(
            """
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with lynxpp.attach("instruction_count", kernels="mm") as run:
                    mm.launch()
                    mm.launch()
                    other.launch()
            print(run.unmeasured)
            print([str(each.message) for each in caught])
            warnings.simplefilter("ignore")
            os.environ.pop("LYNXPP_MEMORY_BUDGET")  # for the process of run_ptx
            try:
                lynxpp.budget("instruction_count.thread_instructions", at_most=1)(mm.launch)()
            except lynxpp.Error as problem:
                print(repr(str(problem)))
        """,
            LYNXPP_MEMORY_BUDGET="1",
        )
        self.assertEqual(unmeasured, {"mm_kernel": 2})
        self.assertEqual(
            warned,
            [
                "launches ran uninstrumented: 2 of mm_kernel; the coverage in the records says why (LYNXPP_OUTPUT)"
            ],
        )
        self.assertIn("launches of mm_kernel ran uninstrumented", failed)

    def test_results_arrive_in_the_statement(self):
        (counts,), _ = self.run_program(
            """
            counts = []
            with lynxpp.attach("instruction_count") as run:
                for _ in range(3):
                    mm.launch()
                    counts.append(len(list(run.launches())))
            print(counts)
        """
        )
        self.assertEqual(counts, [1, 2, 3])

    def test_errors(self):
        (unknown, nested, after), stderr = self.run_program(
            """
            def caught(*arguments):
                try:
                    with lynxpp.attach(*arguments):
                        mm.launch()
                except lynxpp.Error as problem:
                    return str(problem)
            print(repr(caught("nonsense")))
            with lynxpp.attach("instruction_count"):
                print(repr(caught("instruction_count")))
            with lynxpp.attach("instruction_count") as run:
                mm.launch()
            print(results(run)[0][0])
        """.replace(
                "print(results(run)[0][0])", "print(repr(results(run)[0][0]))"
            )
        )
        self.assertEqual(unknown, "cannot attach 'nonsense'; standard error has the reason")
        self.assertIn("no specification 'nonsense'", stderr)
        self.assertEqual(
            nested,
            "another lynxpp.attach is active\n  hint: attach several specifications at once: lynxpp.attach(\"a,b\")",
        )
        self.assertEqual(after, "mm_kernel")

    def test_an_exception_ends_the_measurement(self):
        (before, attached), _ = self.run_program(
            """
            try:
                with lynxpp.attach("instruction_count") as run:
                    mm.launch()
                    raise KeyError
            except KeyError:
                print(results(run))
            from lynxpp.attaching import find_api
            print(find_api().attached())
        """
        )
        self.assertEqual((len(before), attached), (1, 0))

    def test_earlier_specifications_are_attached_again(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            self.run_program(
                """
                mm.launch()
                with lynxpp.attach("loop_trips", kernels="other"):
                    mm.launch()
                    other.launch()
                mm.launch()
            """,
                LYNXPP_SPEC="instruction_count",
                LYNXPP_OUTPUT=str(output),
            )
            launches = [(launch.kernel, launch.spec) for launch in lynxpp.Records(output).launches()]
        self.assertEqual(launches.count(("mm_kernel", "instruction_count")), 2)
        self.assertNotIn(("other", "instruction_count"), launches)

    def test_without_lynxpp_the_error_says_how_to_start(self):
        run = subprocess.run(
            [sys.executable, "-B", "-c", "import lynxpp; lynxpp.attach('instruction_count')"],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        )
        self.assertIn(
            "lynxpp.errors.LibraryError: lynxpp is not in this process\n  hint: start it with `lynxpp run -- python3 …` or with "
            f"LD_PRELOAD={BUILD.library.resolve()} (Jupyter: in \"env\" of the kernel's kernel.json)\n",
            run.stderr,
        )

    def test_frames(self):
        pandas_like = """
            import types
            pandas = types.ModuleType("pandas")
            pandas.DataFrame = lambda rows, columns: [dict(zip(columns, row)) for row in rows]
            sys.modules["pandas"] = pandas
            with lynxpp.attach("instruction_count") as run:
                mm.launch()
            row = run.frame()[0]
            print((row["kernel"], row["launch"], row["ordinal"], row["name"], row["value"], row["unit"], row["pid"] == __import__("os").getpid()))
        """
        (row,), _ = self.run_program(pandas_like)
        self.assertEqual(row, ("mm_kernel", 0, 0, "thread_instructions", 64, "instructions", True))


class Budgets(Case):
    def test_launches_of_the_process_and_of_run_ptx_count(self):
        (measured,), _ = self.run_program(
            """
            @lynxpp.budget("instruction_count.thread_instructions", at_most=1)
            def both():
                mm.launch()
                lynxpp.run_ptx(".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry third() { ret; }", 1, 32)
            try:
                both()
            except AssertionError as problem:
                print(repr(str(problem)))
        """
        )
        self.assertEqual(
            measured,
            "instruction_count.thread_instructions of third in 1 launch is 32, more than the budget of 1 (+3100.0 %)",
        )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
