"""lynxpp.budget on launches of run_ptx, in a plain Python process.

usage: budget_test.py BUILD_FOLDER
"""
import functools
import inspect
import pathlib
import sys
import tempfile
import threading
import unittest

from support import ADD, module
import lynxpp

ALU = module("add.u32 %r1, %r1, 1;\n" * 9, name="alu")  # 10 instructions


def add(blocks=1):
    lynxpp.run_ptx(ADD, blocks, 32, [bytearray(128 * blocks), bytearray(128 * blocks), 1])


def alu():
    lynxpp.run_ptx(ALU, 1, 32)


class Budget(unittest.TestCase):
    def fails(self, function, text, error=AssertionError):
        with self.assertRaises(error) as caught:
            function()
        self.assertEqual(str(caught.exception), text)

    def test_counts_are_summed(self):
        budget = functools.partial(lynxpp.budget, "instruction_count.warp_instructions")

        def twice():
            add()
            add(2)

        budget(at_most=42)(twice)()
        self.fails(
            budget(at_most=40)(twice),
            "instruction_count.warp_instructions of add_number in 2 launches is 42, more than the budget of 40 (+5.0 %)",
        )
        budget(at_least=42)(twice)()
        self.fails(
            budget(at_least=1000)(alu),
            "instruction_count.warp_instructions of alu in 1 launch is 10, less than the required 1,000",
        )
        self.fails(
            budget(at_most=0)(alu),
            "instruction_count.warp_instructions of alu in 1 launch is 10, more than the budget of 0",
        )

    def test_each_kernel_is_judged_by_itself(self):
        def both():
            alu()
            add()

        limit = lynxpp.budget("instruction_count.average_per_thread", at_most=12)
        self.fails(
            limit(both),
            "instruction_count.average_per_thread of add_number in 1 launch is 14, more than the budget of 12 (+16.7 %)",
        )
        lynxpp.budget("instruction_count.average_per_thread", at_most=14)(both)()

    def test_ratios_are_sums_over_sums(self):
        def twice():
            add()
            lynxpp.run_ptx(ADD, 1, 16, [bytearray(64), bytearray(64), 1])

        limit = functools.partial(lynxpp.budget, "basic_block_count.average_active_lanes")
        limit(at_most=24, at_least=24)(twice)()

    def test_budgets_of_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "budgets.toml")
            budget = "[[budget]]\nkernel = '{}'\nmetric = 'instruction_count.warp_instructions'\n{} = {}\n"
            path.write_text(budget.format("^al", "at_most", 10) + budget.format("number", "at_least", 15))

            @lynxpp.budgets(path)
            def both():
                alu()
                add()

            self.fails(
                both,
                "instruction_count.warp_instructions of add_number in 1 launch is 14, less than the required 15",
            )
            for text, message in (
                ("", "must contain"),
                ("[[", "budgets.toml"),
                (budget.format("a", "limit", 1), "budget 1 must have kernel, metric, and at_most or at_least"),
                (budget.format("(", "at_most", 1), "budget 1: "),
                (budget.format("a", "at_most", "'x'"), "budget 1: at_most is not a number"),
            ):
                path.write_text(text)
                with self.assertRaisesRegex(lynxpp.Error, message):
                    lynxpp.budgets(path)

    def test_undefined_ratios_are_within(self):
        lynxpp.budget("memory_efficiency.load_efficiency", at_least=1)(alu)()

    def test_kernels_are_selected(self):
        def both():
            alu()
            add()

        limit = functools.partial(lynxpp.budget, "instruction_count.warp_instructions")
        limit(at_most=10, kernels="^al")(both)()
        limit(at_least=14, at_most=14, kernels="number")(both)()
        with self.assertRaisesRegex(lynxpp.Error, "no kernel was measured"):
            limit(at_most=10, kernels="third")(both)()

    def test_several_limits(self):
        @lynxpp.budget("memory_efficiency.load_sectors", at_most=4)
        @lynxpp.budget("instruction_count.atomics", at_most=0)
        @lynxpp.budget("instruction_count.warp_instructions", at_most=14)
        def limited(blocks):
            add(blocks)
            return blocks

        self.assertEqual(limited(1), 1)
        self.fails(
            lambda: limited(2),
            "instruction_count.warp_instructions of add_number in 1 launch is 28, more than the budget of 14 (+100.0 %)",
        )

    def test_a_specification_of_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "mine.cod")
            path.write_text("global unsigned long threads;\nON_KERNEL_EXIT: { atomicAdd(&threads, 1); }\n")
            limit = lynxpp.budget(f"{path}.threads", at_most=31)
            self.fails(limit(alu), f"{path}.threads of alu in 1 launch is 32, more than the budget of 31 (+3.2 %)")

    def test_results_of_the_caller_are_those_it_asked_for(self):
        seen = []

        @lynxpp.budget("instruction_count.warp_instructions", at_most=10)
        def function():
            run = lynxpp.run_ptx(ALU, 1, 32, spec="memory_efficiency")
            seen.extend(launch.spec for launch in run.launches())

        function()
        self.assertEqual(seen, ["memory_efficiency"])

    def test_launches_of_other_threads_count(self):
        def function():
            thread = threading.Thread(target=alu)
            thread.start()
            thread.join()

        with self.assertRaisesRegex(AssertionError, "of alu in 1 launch is 10"):
            lynxpp.budget("instruction_count.warp_instructions", at_most=9)(function)()

    def test_later_launches_are_not_measured(self):
        lynxpp.budget("instruction_count.warp_instructions", at_most=10)(alu)()
        self.assertEqual(list(lynxpp.run_ptx(ALU, 1, 32).launches()), [])

    def test_an_exception_of_the_test_is_its_result(self):
        def function():
            alu()
            raise KeyError("own")

        self.fails(
            lynxpp.budget("instruction_count.warp_instructions", at_most=1)(function), "'own'", KeyError
        )

    def test_nothing_measured_is_a_failure(self):
        self.fails(
            lynxpp.budget("instruction_count.warp_instructions", at_most=1)(lambda: None),
            "budget of instruction_count.warp_instructions: no kernel was measured\n  hint: measured are run_ptx and, in a process with lynxpp "
            "(LD_PRELOAD, `lynxpp run`), the program's launches",
            lynxpp.Error,
        )

    def test_names_are_checked(self):
        with self.assertRaisesRegex(
            lynxpp.Error,
            "instruction_count has no result 'warps'\n  hint: it has thread_instructions, warp_instructions, ",
        ):
            lynxpp.budget("instruction_count.warps", at_most=1)(alu)()
        with self.assertRaisesRegex(lynxpp.Error, "no specification 'instructions'"):
            lynxpp.budget("instructions.warps", at_most=1)(alu)()
        with self.assertRaisesRegex(ValueError, "'warps' is not SPECIFICATION.RESULT"):
            lynxpp.budget("warps", at_most=1)
        with self.assertRaisesRegex(ValueError, "a budget needs at_most or at_least"):
            lynxpp.budget("instruction_count.warp_instructions")

    def test_test_runners_see_the_function(self):
        def test_it(fixture, other=1):
            """Text."""

        limited = lynxpp.budget("instruction_count.warp_instructions", at_most=1)(test_it)
        self.assertEqual(
            (limited.__name__, limited.__doc__, str(inspect.signature(limited))),
            ("test_it", "Text.", "(fixture, other=1)"),
        )

    def test_coroutines_are_refused(self):
        async def test_it():
            pass

        with self.assertRaisesRegex(TypeError, "cannot measure test_it, which is not a plain function"):
            lynxpp.budget("instruction_count.warp_instructions", at_most=1)(test_it)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
