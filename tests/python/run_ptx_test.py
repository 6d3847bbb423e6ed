"""lynxpp.run_ptx: kernels on the cpu device, in a plain Python process.

usage: run_ptx_test.py BUILD_FOLDER
"""
import array
import contextlib
import ctypes
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from support import ADD, ADD_STORE, BUILD, ROOT, module
import lynxpp
from lynxpp import worker

EMPTY = module("", name="empty")
PRINT = """.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[] = {104, 105, 10, 0};
.visible .entry greet()
{
.reg .b64 %a<3>; .reg .b32 %r1;
mov.u64 %a1, text;
cvta.global.u64 %a1, %a1;
mov.u64 %a2, 0;
{ .param .b64 format; .param .b64 values; .param .b32 result;
st.param.b64 [format], %a1; st.param.b64 [values], %a2;
call.uni (result), vprintf, (format, values); }
ret;
}
"""
WITHOUT_END = module("again: bra again;")
TO_SHARED = module(
    "mov.u32 %r1, %tid.x; st.shared.u32 [tile], %r1;", variables=".extern .shared .align 16 .b8 tile[];"
)


def python(code, **variables):
    return subprocess.run(
        [sys.executable, "-B", "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


class Arrays(unittest.TestCase):
    def test_are_copied_in_and_back(self):
        numbers, sums = array.array("i", range(64)), bytearray(256)
        lynxpp.run_ptx(ADD, 2, 32, [sums, numbers, -5])
        self.assertEqual(memoryview(sums).cast("i").tolist(), [each - 5 for each in range(64)])
        self.assertEqual(list(numbers), list(range(64)))

    def test_one_array_may_be_input_and_output(self):
        numbers = array.array("i", range(32))
        lynxpp.run_ptx(ADD, 1, 32, [numbers, numbers, 1])
        self.assertEqual(list(numbers), list(range(1, 33)))

    def test_views_of_one_array_share_its_memory(self):
        numbers = array.array("i", range(8))
        view = memoryview(numbers).cast("B")
        lynxpp.run_ptx(ADD, 1, 4, [view[16:], view[:16], 100])
        self.assertEqual(list(numbers), [0, 1, 2, 3, 100, 101, 102, 103])

    def test_read_only_memory_is_only_read(self):
        sums = array.array("i", [0] * 4)
        lynxpp.run_ptx(ADD, 1, 4, [sums, bytes(16), 3])
        self.assertEqual(list(sums), [3] * 4)

    def test_an_output_keeps_elements_that_the_kernel_does_not_write(self):
        sums = array.array("i", [9] * 6)
        lynxpp.run_ptx(ADD, 1, 4, [lynxpp.out(sums), bytes(16), 3])
        self.assertEqual(list(sums), [3, 3, 3, 3, 9, 9])

    def test_arrays_of_ctypes(self):
        numbers, sums = (ctypes.c_int * 4)(1, 2, 3, 4), (ctypes.c_int * 4)()
        lynxpp.run_ptx(ADD, 1, 4, [sums, numbers, ctypes.c_uint(1)])
        self.assertEqual(list(sums), [2, 3, 4, 5])

    def test_large_arrays(self):
        count = 20 << 20
        numbers = array.array("i", [7]) * count
        lynxpp.run_ptx(ADD, 1, 32, [numbers, bytes(128), 1])
        self.assertEqual((numbers[31], numbers[32], numbers[-1], len(numbers)), (1, 7, 7, count))
        lynxpp.run_ptx(ADD, 1, 32, [numbers, numbers, 1])
        self.assertEqual((numbers[31], numbers[32]), (2, 7))

    def test_are_unchanged_if_the_kernel_fails(self):
        numbers = array.array("i", range(40))
        with self.assertRaises(lynxpp.KernelError):
            lynxpp.run_ptx(ADD, 1, 64, [numbers, numbers, 1])
        self.assertEqual(list(numbers), list(range(40)))


class Modules(unittest.TestCase):
    def test_variables_start_with_their_values_in_every_call(self):
        count = module(
            "ld.param.u64 %a1, [to]; ld.global.u32 %r1, [v]; add.u32 %r1, %r1, 1; st.global.u32 [v], %r1; st.global.u32 [%a1], %r1;",
            ".param .u64 to",
            ".global .u32 v = 7;",
        )
        for _ in range(2):
            result = array.array("i", [0])
            lynxpp.run_ptx(count, 1, 1, [result])
            self.assertEqual(list(result), [8])

    def test_kernels_are_chosen_by_name(self):
        both = EMPTY + ADD[ADD.index(".visible") :]
        sums = array.array("i", [0])
        lynxpp.run_ptx(both, 1, 1, [sums, bytes(4), 2], kernel="add_number")
        self.assertEqual(list(sums), [2])
        with self.assertRaisesRegex(
            ValueError, "the module has 2 kernels; choose one with kernel=: empty, add_number"
        ):
            lynxpp.run_ptx(both, 1, 1)
        with self.assertRaisesRegex(ValueError, "the module has no kernel 'add', but empty, add_number"):
            lynxpp.run_ptx(both, 1, 1, kernel="add")

    def test_text_may_be_bytes_or_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "empty.ptx")
            path.write_text(EMPTY)
            for text in (EMPTY.encode(), EMPTY.encode() + b"\0", path):
                lynxpp.run_ptx(text, 1, 32)

    def test_dynamic_shared_memory(self):
        lynxpp.run_ptx(TO_SHARED, 1, 32, shared_bytes=16)
        lynxpp.run_ptx(TO_SHARED, 1, 32, shared_bytes=100 << 10)

    def test_what_kernels_print_is_printed(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            lynxpp.run_ptx(PRINT, 1, 2)
            lynxpp.run_ptx(EMPTY, 1, 2)
        self.assertEqual(printed.getvalue(), "hi\nhi\n")


class Errors(unittest.TestCase):
    def refused(self, error, text, *arguments, **options):
        with self.assertRaises(error) as caught:
            lynxpp.run_ptx(text, *(arguments or (1, 32)), **options)
        lynxpp.run_ptx(EMPTY, 1, 32)  # the next call is not affected
        return caught.exception

    def test_ptx_that_cannot_be_loaded(self):
        problem = self.refused(lynxpp.PtxError, module("mov.u32 %r1, 1\nmov.u32 %r2, 2;"))
        self.assertEqual((problem.line, problem.column, problem.source), (9, 1, "mov.u32 %r2, 2;"))
        self.assertEqual(problem.hint, "is a ';' missing before it?")
        self.assertEqual(
            str(problem),
            "line 9: unexpected 'mov.u32'\n    mov.u32 %r2, 2;\n  hint: is a ';' missing before it?",
        )
        self.assertEqual(self.refused(lynxpp.PtxError, module("\nbra nowhere;")).line, 9)

    def test_text_that_is_not_ptx(self):
        problem = self.refused(lynxpp.PtxError, "text")
        self.assertEqual((problem.line, problem.column), (1, 1))
        self.assertIn("instead of 'text'", str(problem))

    def test_a_module_without_a_kernel(self):
        self.assertIn(
            "the module has no kernel",
            str(self.refused(lynxpp.PtxError, ".version 8.0\n.target sm_80\n.address_size 64\n")),
        )

    def test_unsupported_instructions(self):
        problem = self.refused(lynxpp.PtxError, module("add.foo.u32 %r1, %r1, %r2;"))
        self.assertNotIsInstance(problem, lynxpp.KernelError)
        self.assertEqual((problem.line, problem.source), (8, "add.foo.u32 %r1, %r1, %r2;"))
        self.assertIn("instruction 'add.foo.u32' is not supported", str(problem))

    def test_illegal_addresses_name_the_argument(self):
        problem = self.refused(lynxpp.KernelError, ADD, 1, 33, [bytearray(128), bytearray(200), 1])
        self.assertEqual(problem.line, ADD_STORE)
        self.assertRegex(
            str(problem),
            r"a store of 4 bytes to 0x\w+ by thread \(32, 0, 0\) of block \(0, 0, 0\): just past the end of 128 bytes of "
            r"argument 1 \(to\)\n    st.global.u32 \[%a1\], %r6;\n  hint: lynxpp.check_ptx",
        )
        null = self.refused(lynxpp.KernelError, ADD, 1, 1, [None, bytearray(4), 1])
        self.assertIn("a null pointer", str(null))

    def test_traps(self):
        self.assertEqual(self.refused(lynxpp.KernelError, module("\n\ntrap;")).line, 10)

    def test_missing_shared_memory(self):
        self.assertEqual(
            self.refused(lynxpp.KernelError, TO_SHARED).hint,
            "the kernel has 0 bytes of dynamic shared memory; pass shared_bytes= (--shared)",
        )

    def test_launches_that_no_device_accepts(self):
        self.assertIn("block (2048, 1, 1)", str(self.refused(lynxpp.Error, EMPTY, 1, 2048)))
        self.assertIn(
            "1048576 bytes per block", str(self.refused(lynxpp.Error, EMPTY, 1, 1, shared_bytes=1 << 20))
        )
        with self.assertRaisesRegex(
            ValueError, r"kernel k requires blocks of \(64, 1, 1\) threads \(.reqntid\), not \(32, 1, 1\)"
        ):
            lynxpp.run_ptx(module("", directives=".reqntid 64"), 1, 32)

    def test_kernels_without_an_end_are_stopped(self):
        problem = self.refused(lynxpp.KernelError, WITHOUT_END, 1, 32, timeout=0.5)
        self.assertIn("kernel k still ran after 0.5 s and was stopped", str(problem))

    def test_a_missing_library(self):
        with tempfile.TemporaryDirectory() as folder:
            run = python("import lynxpp; lynxpp.run_ptx('', 1, 1)", LYNXPP_HOME=folder)
        self.assertIn("LibraryError: LYNXPP_HOME is ", run.stderr)
        self.assertIn("which has no lib/liblynxpp.so", run.stderr)


class Output(unittest.TestCase):
    def test_of_a_kernel_that_fails_is_printed(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), self.assertRaises(lynxpp.KernelError):
            lynxpp.run_ptx(PRINT.replace("ret;", "trap;"), 1, 1)
        self.assertEqual(printed.getvalue(), "hi\n")


class Records(unittest.TestCase):
    def test_of_the_launch(self):
        run = lynxpp.run_ptx(ADD, 3, 32, [bytearray(384), bytearray(384), 1], spec="instruction_count")
        (launch,) = run.launches()
        self.assertEqual(
            (launch.kernel, launch.grid, launch.block, launch.device),
            ("add_number", (3, 1, 1), (32, 1, 1), "cpu"),
        )
        self.assertEqual(launch.results["thread_instructions"], 14 * 96)
        self.assertEqual(launch.results["warp_instructions"], 14 * 3)
        self.assertEqual({metric.name: metric.value for metric in run.metrics()}["average_per_thread"], 14)
        self.assertEqual(launch.process.pid, worker._workers["cpu"]._process.pid)

    def test_without_a_specification_are_empty(self):
        self.assertEqual(list(lynxpp.run_ptx(EMPTY, 1, 32).launches()), [])

    def test_of_several_specifications_and_calls(self):
        for grid in (1, 2):
            run = lynxpp.run_ptx(
                ADD,
                grid,
                32,
                [bytearray(256), bytearray(256), 1],
                spec=["instruction_count", "memory_efficiency"],
            )
            results = {launch.spec: launch.results for launch in run.launches()}
            self.assertEqual(results["instruction_count"]["warp_instructions"], 14 * grid)
            self.assertEqual(results["memory_efficiency"]["load_sectors"], 4 * grid)
            self.assertEqual(results["memory_efficiency"]["requests"].values.count(grid), 2)
            (sites,) = run.sites()  # also in the second call
            self.assertEqual([site["opcode"] for site in sites.instructions()][-2], "st.global.u32")

    def test_have_the_instructions_of_their_own_kernel(self):
        store = "ld.param.u64 %a1, [to];\nst.global.u32 [%a1], {};"
        kernels = {name: module(store.format(value), ".param .u64 to", name=name) for name, value in (("one", "%r1"), ("two", "%r2"))}
        kernels["two"] = kernels["two"].replace("st.global", "mov.u32 %r2, 5;\nst.global")
        for name in ("one", "two", "one"):
            run = lynxpp.run_ptx(kernels[name], 1, 32, [bytearray(4)], spec="memory_efficiency")
            (sites,) = run.sites()
            self.assertEqual((sites.kernel, len(list(sites.instructions()))), (name, 3 if name == "one" else 4))

    def test_of_a_file_in_the_current_folder(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "mine.cod").write_text(
                "global unsigned long warps;\nON_KERNEL_EXIT: { atomicAdd(&warps, 1); }\n"
            )
            os.chdir(folder)
            try:
                (launch,) = lynxpp.run_ptx(EMPTY, 2, 64, spec="mine.cod").launches()
            finally:
                os.chdir(before)
        self.assertEqual(launch.spec, "mine")
        self.assertEqual(launch.results["warps"], 128)

    def test_without_memory_for_counters_the_error_says_so(self):
        run = python(
            f"import lynxpp; lynxpp.run_ptx({EMPTY!r}, 1, 32); lynxpp.run_ptx({EMPTY!r}, 1, 32, spec='instruction_count')",
            LYNXPP_MEMORY_BUDGET="1",
        )
        self.assertIn(
            "lynxpp.errors.Error: kernel empty could not be measured: not enough memory for its counters",
            run.stderr,
        )

    def test_an_unknown_specification(self):
        with self.assertRaisesRegex(
            lynxpp.Error, "^no specification 'nonsense'\n  hint: ready-made specifications: active_lanes, "
        ):
            lynxpp.run_ptx(EMPTY, 1, 32, spec="nonsense")


class Processes(unittest.TestCase):
    def test_settings_of_this_process_do_not_reach_the_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            run = python(
                "import lynxpp\nrun = lynxpp.run_ptx({!r}, 1, 32, spec='instruction_count')\nprint(len(list(run.launches())))".format(
                    EMPTY
                ),
                LD_PRELOAD=str(BUILD.library),
                LYNXPP_SPEC="loop_trips",
                LYNXPP_KERNELS="none",
                LYNXPP_CPU_CHECK="leak",
                LYNXPP_OUTPUT=f"{folder}/out.jsonl",
                LYNXPP_DEVICE="cpu",
            )
            self.assertEqual((run.stdout, run.stderr, os.listdir(folder)), ("1\n", "", []))

    def test_folders_with_blanks(self):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder, "a b: c")
            (home / "lib").mkdir(parents=True)
            for name in ("liblynxpp.so", "liblynxpp-engine.so", "cpu-driver"):
                (home / "lib" / name).symlink_to(BUILD.folder / "lib" / name)
            run = python(
                f"import lynxpp; lynxpp.run_ptx({EMPTY!r}, 1, 32); print('ok')", LYNXPP_HOME=str(home)
            )
        self.assertEqual((run.stdout, run.stderr), ("ok\n", ""))

    def test_forked_children_use_a_device_of_their_own(self):
        lynxpp.run_ptx(EMPTY, 1, 32)
        child = os.fork()
        if child == 0:
            sums = array.array("i", [0])
            lynxpp.run_ptx(ADD, 1, 1, [sums, bytes(4), 2])
            os._exit(sums[0])
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 2)
        lynxpp.run_ptx(EMPTY, 1, 32)

    def test_threads(self):
        results = [array.array("i", [0] * 32) for _ in range(8)]
        threads = [
            threading.Thread(target=lynxpp.run_ptx, args=(ADD, 1, 32, [each, bytes(128), number]))
            for number, each in enumerate(results)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual([list(each) for each in results], [[number] * 32 for number in range(8)])

    def test_an_unknown_device_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "the device must be one of cpu, cuda, not 'gpu'"):
            lynxpp.run_ptx(EMPTY, 1, 32, device="gpu")

    @unittest.skipIf(pathlib.Path("/dev/nvidiactl").exists(), "there is a GPU")
    def test_without_a_gpu_the_device_cuda_is_an_error(self):
        with self.assertRaisesRegex(lynxpp.Error, r"(?s)the process of the GPU ended with exit status 1.*libcuda"):
            lynxpp.run_ptx(EMPTY, 1, 32, device="cuda")
        lynxpp.run_ptx(EMPTY, 1, 32)

    def test_a_dead_process_is_replaced(self):
        lynxpp.run_ptx(EMPTY, 1, 32)
        worker._workers["cpu"].kill()
        lynxpp.run_ptx(EMPTY, 1, 32)

    def test_its_end_during_a_launch_is_an_error(self):
        with worker.shared_worker() as used:
            stop = threading.Timer(0.5, used._process.kill)
        stop.start()
        with self.assertRaisesRegex(lynxpp.Error, "the process of the cpu device ended with signal 9"):
            lynxpp.run_ptx(WITHOUT_END, 1, 32)
        stop.join()
        lynxpp.run_ptx(EMPTY, 1, 32)

    def test_ends_with_the_program_even_in_a_kernel(self):
        code = f"""import os, threading, lynxpp
from lynxpp import worker
lynxpp.run_ptx({EMPTY!r}, 1, 32)
print(worker._workers["cpu"]._process.pid, flush=True)
threading.Timer(0.5, os._exit, [0]).start()
lynxpp.run_ptx({WITHOUT_END!r}, 1, 32)"""
        run = python(code)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.wait_for_end(int(run.stdout))

    def wait_for_end(self, process):
        for _ in range(1200):
            try:
                os.kill(process, 0)
                if " Z " in pathlib.Path(f"/proc/{process}/stat").read_text():
                    return
            except (ProcessLookupError, FileNotFoundError):
                return
            time.sleep(0.05)
        os.kill(process, signal.SIGKILL)
        self.fail("the process of the cpu device still runs")

    def test_an_interrupted_call_stops_the_kernel(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            lynxpp.run_ptx(EMPTY, 1, 32)
            process = worker._workers["cpu"]._process.pid
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with self.assertRaises(KeyboardInterrupt):
                lynxpp.run_ptx(WITHOUT_END, 1, 32)
        finally:
            signal.signal(signal.SIGALRM, before)
        self.wait_for_end(process)
        lynxpp.run_ptx(EMPTY, 1, 32)

    def test_calls_leave_no_descriptor_open(self):
        def call(function):
            function(ADD, 1, 1, [bytearray(4), bytes(4), 1])
            return len(os.listdir("/proc/self/fd"))

        before = call(lynxpp.run_ptx)
        for _ in range(3):
            worker._workers["cpu"].kill()
            self.assertEqual(call(lynxpp.run_ptx), before)
        self.assertEqual(call(lynxpp.check_ptx), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
