"""lynxpp.check_ptx: what checks find in kernels with seeded faults, with the arguments' names.

usage: check_ptx_test.py BUILD_FOLDER
"""
import array
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import ADD, ADD_LOAD, ADD_STORE, BUILD, module
import lynxpp

# All threads write one word of shared memory in line 8, without a barrier.
# Its kernel is tile(int).
RACE = module(
    "mov.u32 %r1, %tid.x; st.shared.u32 [word], %r1;",
    variables=".shared .align 4 .u32 word;",
    name="_Z4tilei",
)
# Thread 0 skips the barrier of line 11, and then writes.
SKIPPED = module(
    """ld.param.u64 %a1, [to];
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 32; @%p1 bra after;
bar.sync 0;
after:
st.global.u32 [%a1], 1;""",
    ".param .u64 to",
)
UNWRITTEN = module(
    "ld.shared.u32 %r1, [word];\nld.param.u64 %a1, [to];\nst.global.u32 [%a1], %r1;",
    ".param .u64 to",
    ".shared .align 4 .u32 word;",
)
WITH_SOURCE = RACE.replace("mov.u32", '.loc 1 42 3\nmov.u32') + '.file 1 "kernel.py"\n'


class Findings(unittest.TestCase):
    def only(self, *arguments, **options):
        findings = lynxpp.check_ptx(*arguments, **options)
        self.assertEqual(len(findings), 1, findings)
        return findings[0]

    def test_correct_kernels_have_none(self):
        self.assertEqual(lynxpp.check_ptx(ADD, 2, 32, [bytearray(256), bytearray(256), 1]), [])

    def test_out_of_bounds(self):
        (store,) = lynxpp.check_ptx(ADD, 1, 34, [bytearray(128), bytearray(136), 1])
        self.assertEqual(
            (store.check, store.kind, store.line, store.count), ("memory", "out of bounds", ADD_STORE, 2)
        )
        self.assertEqual((store.kernel, store.block, store.thread), ("add_number", (0, 0, 0), (32, 0, 0)))
        self.assertRegex(
            store.message,
            r"^out of bounds in kernel add_number, 2 times:\n  a store of 4 bytes to 0x\w+ by thread \(32, 0, 0\) of block "
            r"\(0, 0, 0\) \(PTX line 20\)\n  just past the end of 128 bytes of argument 1 \(to\)$",
        )
        self.assertEqual(store.class_, "error")
        self.assertEqual(str(store), f"error: {store.message}")

    def test_all_of_them_are_listed_and_arrays_are_unchanged(self):
        numbers = array.array("i", range(32))
        findings = lynxpp.check_ptx(ADD, 1, 33, [numbers, bytes(128), 1])
        self.assertEqual(
            [(each.kind, each.line) for each in findings],
            [("out of bounds", ADD_LOAD), ("out of bounds", ADD_STORE)],
        )
        self.assertEqual(list(numbers), list(range(32)))

    def test_races(self):
        race = self.only(RACE, 1, 64)
        self.assertEqual((race.check, race.kind, race.line, race.other_line), ("race", "race", 8, 8))
        self.assertRegex(race.message, r"\n  after a store of 4 bytes to shared array 'word' by thread ")

    def test_reads_of_outputs(self):
        unwritten = self.only(ADD, 1, 4, [bytearray(16), lynxpp.out(bytearray(16)), 1])
        self.assertEqual(
            (unwritten.check, unwritten.kind, unwritten.line), ("init", "uninitialized read", ADD_LOAD)
        )
        self.assertIn("of 16 bytes of argument 2 (from) by thread", unwritten.message)
        self.assertEqual(lynxpp.check_ptx(ADD, 1, 4, [bytearray(16), bytearray(16), 1]), [])

    def test_reads_of_shared_memory(self):
        self.assertEqual(self.only(UNWRITTEN, 1, 1, [bytearray(4)]).kind, "uninitialized read")
        without_effect = UNWRITTEN.replace("[%a1], %r1", "[%a1], 7")
        self.assertEqual(lynxpp.check_ptx(without_effect, 1, 1, [bytearray(4)]), [])

    def test_barriers(self):
        skipped = self.only(SKIPPED, 1, 64, [bytearray(4)])
        self.assertEqual((skipped.check, skipped.kind, skipped.line), ("sync", "skipped barrier", 11))

    def test_lines_of_the_source(self):
        race = self.only(WITH_SOURCE, 1, 64)
        self.assertEqual((race.source_file, race.source_line, race.line), ("kernel.py", 42, 9))
        self.assertIn("kernel.py:42 (PTX line 9)", race.message)

    def test_checks_can_be_chosen(self):
        self.assertEqual(lynxpp.check_ptx(RACE, 1, 64, checks="memory,init,sync"), [])
        self.assertEqual(len(lynxpp.check_ptx(RACE, 1, 64, checks="race")), 1)
        with self.assertRaisesRegex(
            ValueError, "unknown check 'rac'; the checks are memory, race, init and sync"
        ):
            lynxpp.check_ptx(RACE, 1, 64, checks="memory,rac")

    def test_failures_that_are_no_findings(self):
        with self.assertRaises(lynxpp.KernelError) as caught:
            lynxpp.check_ptx(module("trap;"), 1, 32)
        self.assertEqual(caught.exception.line, 8)
        with self.assertRaises(lynxpp.PtxError) as caught:
            lynxpp.check_ptx(module("bra nowhere;"), 1, 32)
        self.assertEqual(caught.exception.line, 8)
        with self.assertRaisesRegex(lynxpp.KernelError, "was stopped"):
            lynxpp.check_ptx(module("again: bra again;"), 1, 32, timeout=1)

    def test_names_are_written_as_in_the_source(self):
        kernels = (RACE.replace("_Z4tilei", name) for name in ("_Z4tilei", "i", "_Zx"))
        titles = [self.only(text, 1, 64).message.partition(", ")[0] for text in kernels]
        self.assertEqual(titles, [f"race in kernel {name}" for name in ("tile(int)", "i", "_Zx")])

    def test_words_are_those_of_check_run(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "run.py")
            script.write_text(
                f"""import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
handles = [ctypes.c_void_p() for _ in range(3)]
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(handles[0]), 0, 0)
cuda.cuModuleLoadData(ctypes.byref(handles[1]), {RACE.encode()!r})
cuda.cuModuleGetFunction(ctypes.byref(handles[2]), handles[1], b"_Z4tilei")
cuda.cuLaunchKernel(handles[2], 1, 1, 1, 64, 1, 1, 0, None, None, None)
cuda.cuCtxSynchronize()
"""
            )
            run = subprocess.run(
                [
                    BUILD.command,
                    "check-run",
                    "-o",
                    f"{folder}/found.jsonl",
                    "--",
                    sys.executable,
                    "-B",
                    script,
                ],
                capture_output=True,
                text=True,
                timeout=120,
            )
            record = json.loads(pathlib.Path(folder, "found.jsonl").read_text().splitlines()[0])
        race = self.only(RACE, 1, 64)
        self.assertIn(f"hazard: {race.message}\n", run.stderr)
        self.assertEqual(race.record, record)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
