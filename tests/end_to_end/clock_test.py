"""Programs with modelled time (LYNXPP_CPU_CLOCK): their results are unchanged, and modelled values are
labelled so and identical in every run, on one core and on all.

usage: clock_test.py BUILD_FOLDER
"""
import json
import math
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import schema  # noqa: E402
from harness import Build, read_json_lines  # noqa: E402

BUILD = Build(sys.argv.pop())
OLD, NEW = "compute_1_3", "compute_9_0"


def modelled(program, machine, *arguments, environment=None):
    """Returns the run and the device's counters for each launch."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "counters.jsonl")
        run = BUILD.run(BUILD.examples / program, *arguments,
                        environment={"LYNXPP_CPU_CLOCK": machine, "LYNXPP_CPU_COUNTERS": str(output), **(environment or {})})
        return run, (read_json_lines(output) if output.exists() else [])


class Clock(unittest.TestCase):
    def test_programs_compute_the_same(self):
        for program in ("banks", "bitonic", "divergence", "interpreter", "jacobi", "reduction", "scan", "streams", "symbols", "transpose"):
            native = BUILD.run(BUILD.examples / program)
            for machine in (OLD, NEW):
                with self.subTest(program=program, machine=machine):
                    run, launches = modelled(program, machine)
                    self.assertEqual((run.status, run.stdout), (0, native.stdout), run)
                    # Blocks of the old machine have at most 512 threads.
                    fits = [launch for launch in launches if machine == NEW or math.prod(launch["block"]) <= 512]
                    self.assertEqual([launch for launch in launches if "modelled" in launch], fits)
                    self.assertEqual(run.stderr.count("not measured (LYNXPP_CPU_CLOCK)"), 1)

    def test_one_core_and_all_model_the_same(self):
        everywhere = modelled("histogram", NEW)[1]
        cores = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(cores)})
            on_one = modelled("histogram", NEW)[1]
        finally:
            os.sched_setaffinity(0, cores)
        self.assertEqual(everywhere, on_one)
        self.assertGreater(len(on_one), 0)

    def test_sums_agree(self):
        for machine, channels in ((OLD, 8), ("compute_1_3_six", 6), (NEW, 96)):
            for launch in modelled("transpose", machine)[1]:
                time = launch["modelled"]
                self.assertEqual(time["machine"], machine)
                self.assertEqual(len(time["channels"]["transactions"]), channels)
                sent = sum(sum(time["transactions"][kind].values()) for kind in ("loads", "stores", "atomics"))
                self.assertEqual(sum(map(sum, time["traffic"]["over_time"])), sent)
                self.assertGreaterEqual(sum(map(sum, zip(*time["traffic"]["over_time"]))), max(time["channels"]["transactions"]))
                for kind in ("loads", "stores"):
                    ours = launch["global"][kind]
                    self.assertEqual(time["requests"][kind]["requests"], ours["requests"])
                    self.assertEqual(time["requests"][kind]["bytes_asked"], ours["bytes"])
                    if machine == NEW:
                        self.assertEqual(time["requests"][kind]["sectors"], ours["sectors"])
                if machine == NEW:
                    self.assertEqual(time["l1"]["hits"] + time["l1"]["misses"], launch["global"]["loads"]["sectors"])
                else:
                    self.assertEqual(sum(time["channels"]["transactions"]), sent)

    def test_records_and_tables_say_that_it_is_modelled(self):
        run, records = BUILD.measure(BUILD.examples / "transpose", spec="kernel_runtime",
                                     environment={"LYNXPP_CPU_CLOCK": OLD, "LYNXPP_TIMING": "1"})
        self.assertEqual(run.status, 0, run)
        self.assertIn(f"== lynxpp: kernel_runtime on cpu (times modelled for {OLD}) ==", run.stderr)
        self.assertIn(f"execute is modelled for {OLD}", run.stderr)
        for launch in records.launches:
            self.assertEqual(schema.complaint({**launch, "results": {}}), "")
            time = launch["modelled"]
            self.assertEqual((time["machine"], len(time["partitions"])), (OLD, 8))
            self.assertLess(launch["results"]["max_cycles"], time["cycles"])
            self.assertEqual(len(launch["results"]["load"]["values"]), 30)
        for timing in records.timing:
            self.assertEqual(schema.complaint(timing), "")
            self.assertEqual(timing["modelled"], OLD)
            of_kernel = [each["modelled"]["seconds"] for each in records.launches if each["kernel"] == timing["kernel"]]
            self.assertAlmostEqual(timing["execute_ms"], 1000 * sum(of_kernel), places=9)

    def test_blocks_run_once_and_within_the_kernels_time(self):
        for machine, multiprocessors in ((OLD, 30), (NEW, 132)):
            run, records = BUILD.measure(BUILD.examples / "reduction", spec="kernel_runtime,block_runtime,warp_timeline",
                                         environment={"LYNXPP_CPU_CLOCK": machine})
            self.assertEqual(run.status, 0, run)
            launches = {}
            for record in records.launches:
                launches.setdefault((record["kernel"], record["launch"]), {})[record["spec"]] = record
            # Blocks of the old machine have at most 512 threads.
            timed = [specs for specs in launches.values() if "modelled" in specs["block_runtime"]]
            self.assertGreater(len(timed), 1)
            for specs in timed:
                with self.subTest(machine=machine, kernel=specs["block_runtime"]["demangled"]):
                    self.check_blocks(specs, multiprocessors)

    def check_blocks(self, specs, multiprocessors):
        """Every block and warp ran once, started before it ended, on an existing multiprocessor; those of one
        do not take longer than its slots allow."""
        time, blocks = specs["block_runtime"]["modelled"], math.prod(specs["block_runtime"]["grid"])
        cycles, sms = (specs["block_runtime"]["results"][name]["values"] for name in ("cycles", "sm"))
        self.assertEqual((len(cycles), len(sms)), (blocks, blocks))
        self.assertTrue(all(0 < each <= time["cycles"] for each in cycles))
        self.assertTrue(set(sms) <= set(range(multiprocessors)))
        load = specs["kernel_runtime"]["results"]["load"]["values"]
        self.assertEqual(sum(specs["kernel_runtime"]["results"]["distribution"]["values"]), blocks)
        self.assertEqual(len(load), multiprocessors)
        self.assertEqual({sm for sm, busy in enumerate(load) if busy}, set(sms))
        most = time["cycles"] * time["blocks_per_sm"]
        for sm in range(multiprocessors):
            self.assertLessEqual(sum(each for each, at in zip(cycles, sms) if at == sm), most)
            self.assertLessEqual(load[sm], most)
        table = specs["warp_timeline"]["results"]
        warps, begins, ends = (table[f"warps.{name}"]["values"] for name in ("warp", "begin", "end"))
        self.assertEqual(sorted(warps), list(range(blocks * -(-math.prod(specs["block_runtime"]["block"]) // 32))))
        self.assertTrue(all(begin < end for begin, end in zip(begins, ends)))
        self.assertTrue(set(table["warps.sm"]["values"]) <= set(range(multiprocessors)))
        self.assertLessEqual(max(ends) - min(begins), 1e9 * time["seconds"] + 1)

    def test_events_report_modelled_time(self):
        _, launches = modelled("transpose", OLD, environment={"EXAMPLE_REPEAT": "3"})
        runs = [BUILD.run(BUILD.examples / "transpose", environment={"LYNXPP_CPU_CLOCK": OLD, "EXAMPLE_REPEAT": "3"}) for _ in range(2)]
        told = [[line.split() for line in run.stderr.splitlines() if line.startswith("kernel_ms")] for run in runs]
        self.assertEqual(told[0], told[1])
        for _, kernel, milliseconds in told[0]:
            name = "transpose_tiledILi" + kernel[-1] if kernel[-1].isdigit() else kernel
            times = [each["modelled"]["seconds"] for each in launches if name in each["kernel"]]
            # Events also include the gap before each launch.
            self.assertAlmostEqual(float(milliseconds), 1000 * times[-1] + 0.005, delta=2e-4)

    def test_without_the_variable_nothing_is_modelled(self):
        _, launches = BUILD.count(BUILD.examples / "transpose")
        self.assertNotIn("modelled", launches[0])

    def test_reports_what_cannot_be_modelled(self):
        native = BUILD.run(BUILD.examples / "transpose")
        for name, message in (("compute_1_4", "there is no machine 'compute_1_4'; hint: did you mean 'compute_1_3'?"),
                              ("./absent.json", "cannot read ./absent.json")):
            run, launches = modelled("transpose", name)
            self.assertEqual((run.status, run.stdout), (0, native.stdout))
            self.assertEqual(run.stderr.count("no time is modelled"), 1)
            self.assertIn(message, run.stderr)
            self.assertNotIn("modelled", launches[0])

    def test_a_user_defined_machine(self):
        source = pathlib.Path(__file__).parents[2] / "models" / "machines" / f"{OLD}.json"
        machine = json.loads(source.read_text())
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "slow.json")
            machine["name"] = "slow"
            machine["timing"]["memory_mhz"] //= 4
            file.write_text(json.dumps(machine))
            slow = modelled("transpose", str(file))[1]
            fast = modelled("transpose", OLD)[1]
            self.assertEqual(slow[0]["modelled"]["machine"], "slow")
            self.assertGreater(slow[0]["modelled"]["cycles"], fast[0]["modelled"]["cycles"])
            del machine["timing"]
            file.write_text(json.dumps(machine))
            self.assertIn("the machine 'slow' has no member 'timing'", modelled("transpose", str(file))[0].stderr)


if __name__ == "__main__":
    unittest.main()
