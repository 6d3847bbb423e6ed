"""lynxpp.triton with a stand-in for Triton (fake_triton), whose kernels have their PTX in their docstrings.
scripts/gpu/triton_offline.py runs it with the real Triton."""
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import BUILD, ROOT, SKIPPED
import lynxpp

try:
    import numpy
except ImportError:
    sys.exit(SKIPPED)

FAKE = ROOT / "tests" / "python" / "fake_triton"
sys.path.insert(0, str(FAKE))
import triton  # noqa: E402
from triton import language as tl  # noqa: E402
import lynxpp.triton as offline  # noqa: E402

REGISTERS = """.reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;"""


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    """
    .visible .entry add_kernel(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .u64 p3, .param .u64 p4)
    {
    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .f32 %f<9>;
    ld.param.u64 %a1, [p0];
    ld.param.u64 %a2, [p1];
    ld.param.u32 %r1, [p2];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r2, {BLOCK}, %r3;
    setp.ge.u32 %p1, %r4, %r1;
    @%p1 bra done;
    mul.wide.u32 %a3, %r4, 4;
    add.u64 %a1, %a1, %a3;
    add.u64 %a2, %a2, %a3;
    //@ 1
    ld.global.f32 %f1, [%a1];
    ld.global.f32 %f2, [%a2];
    add.f32 %f1, %f1, %f2;
    //@ 2
    st.global.f32 [%a2], %f1;
    done:
    ret;
    }
    """


class Storage:
    def __init__(self, memory):
        self._memory = memory

    def data_ptr(self):
        return self._memory.ctypes.data

    def nbytes(self):
        return self._memory.nbytes


class Tensor:
    """A tensor of PyTorch, as far as lynxpp.triton uses it."""

    def __init__(self, array, root=None, device="cpu"):
        self._array, self._storage = array, Storage(array if root is None else root)
        self.dtype, self.device = "torch.float32", type("Device", (), {"type": device})()

    def untyped_storage(self):
        return self._storage

    def data_ptr(self):
        return self._array.ctypes.data


def ones(count):
    return numpy.ones(count, numpy.float32)


class Activated(unittest.TestCase):
    def test_arrays_go_through_the_cpu_device(self):
        x, y = numpy.arange(300, dtype=numpy.float32), ones(300)
        with offline.activate() as session:
            add_kernel[(3,)](x, y, 300, BLOCK=128)
        self.assertEqual(list(y), [number + 1 for number in range(300)])
        self.assertEqual((session.launches, session.checked, session.findings), ({"add_kernel": 1}, 1, []))
        counts = {
            launch.spec: launch.results for launch in session.run().launches() if launch.kernel == "add_kernel"
        }
        # 84 threads branch to `ret`.
        self.assertEqual(counts["instruction_count"]["thread_instructions"], 384 * 8 + 84 + 300 * 7)
        self.assertEqual(counts["memory_efficiency"]["load_bytes_asked"], 2 * 4 * 300)

    def test_memory_of_a_view_includes_what_its_tensor_is_a_view_of(self):
        root = ones(100)
        with offline.activate() as session:
            add_kernel[(1,)](root[50:60], root[:10], 50, BLOCK=64)  # reads 40 elements past the view
            add_kernel[(1,)](Tensor(root[50:60], root), Tensor(root[:10], root), 50, BLOCK=64)
        self.assertEqual(list(root), [3] * 50 + [1] * 50)
        self.assertEqual(session.findings, [])

    def test_findings_name_lines_and_parameters_of_the_program(self):
        with offline.activate() as session, self.assertRaisesRegex(lynxpp.KernelError, "illegal address"):
            add_kernel[(1,)](ones(40), ones(50), 50, BLOCK=64)
        line = add_kernel.fn.__code__.co_firstlineno
        finding = session.findings[0]
        self.assertEqual((finding.kind, finding.source_line), ("out of bounds", line + 1))
        self.assertEqual(os.path.basename(finding.source_file), "triton_test.py")
        self.assertIn(f"triton_test.py:{line + 1}", finding.message)
        self.assertIn("160 bytes of argument 1 (x)", finding.message)

    def test_one_launch_of_each_shape_is_checked(self):
        with offline.activate() as session:
            for blocks in (1, 1, 2, 1):
                add_kernel[(blocks,)](ones(50), ones(50), 50, BLOCK=0)
        self.assertEqual((session.checked, session.launches), (2, {"add_kernel": 4}))
        found = [(each.kind, each.source_line - add_kernel.fn.__code__.co_firstlineno) for each in session.findings]
        self.assertEqual(found, [("race", 1), ("race", 2)])  # between the blocks of the third launch
        with offline.activate(checks="", spec="") as session:
            add_kernel[(1,)](ones(50), ones(50), 50, BLOCK=64)
        self.assertEqual((session.checked, len(list(session.run().launches()))), (0, 0))

    def test_autotuning_takes_the_first_configuration_and_time_is_nan(self):
        tuned = triton.autotune([triton.Config({"BLOCK": 64}, 2), triton.Config({"BLOCK": 128}, 4)], ["n"])(add_kernel)
        y = ones(100)
        with offline.activate(checks="") as session:
            kernel = tuned[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](ones(100), y, 100)
            time = triton.testing.do_bench(lambda: tuned[(1,)](ones(2), ones(2), 2))
        self.assertEqual((kernel.metadata.num_warps, list(y)), (2, [2] * 100))
        self.assertTrue(math.isnan(time))
        self.assertEqual(session.launches, {"add_kernel": 2})

    def test_programs_can_ask_for_properties(self):
        with offline.activate(checks="", spec="", target=90):
            driver = triton.runtime.driver.active
            self.assertEqual(driver.get_current_target(), ("cuda", 90, 32))
            self.assertEqual(driver.utils.get_device_properties(0)["max_shared_mem"], 232448)
            self.assertEqual(driver.get_device_capability(), (9, 0))
            kernel = add_kernel[(1,)](ones(4), ones(4), 4, BLOCK=64)
            self.assertIn(".target sm_90", kernel.asm["ptx"])
            self.assertEqual(65536 // (kernel.n_regs * 32 * kernel.metadata.num_warps), 2)
        with offline.activate(checks="", spec=""), self.assertRaisesRegex(lynxpp.Error, "active already"):
            with offline.activate():
                pass

    def test_everything_is_as_before_afterwards(self):
        with offline.activate(checks="", spec=""):
            add_kernel[(1,)](ones(4), ones(4), 4, BLOCK=64)
        with self.assertRaisesRegex(RuntimeError, "0 active drivers"):
            add_kernel[(1,)](ones(4), ones(4), 4, BLOCK=64)
        mine = offline.Driver(80)
        triton.runtime.driver.set_active(mine)
        self.addCleanup(triton.runtime.driver.set_active, None)
        with offline.activate(), self.assertRaises(ZeroDivisionError):
            raise ZeroDivisionError
        self.assertIs(triton.runtime.driver.active, mine)
        with self.assertRaises(TypeError):  # arrays of NumPy are for the session only
            add_kernel[(1,)](ones(4), ones(4), 4, BLOCK=64)

    def test_numbers_have_the_types_of_the_signature(self):
        @triton.jit
        def store(to, half, whole, flag, pair, one):
            """
            // global_scratch_size = 32
            .visible .entry store(.param .u64 p0, .param .f32 p1, .param .u64 p2, .param .u8 p3, .param .u64 p4,
                                  .param .u32 p5, .param .u64 scratch, .param .u64 profile)
            {
            .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %a<9>;
            ld.param.u64 %a1, [p0];
            ld.param.b32 %r1, [p1];
            ld.param.u64 %a2, [p2];
            ld.param.u8 %h1, [p3];
            ld.param.u64 %a3, [p4];
            ld.param.u32 %r2, [p5];
            ld.param.u64 %a4, [scratch];
            ld.param.u64 %a5, [profile];
            st.global.b32 [%a1], %r1;
            cvt.u32.u16 %r3, %h1;
            st.global.b32 [%a1+4], %r3;
            st.global.b64 [%a1+8], %a2;
            st.global.b32 [%a3], %r2;
            st.global.b64 [%a1+16], %a5;
            st.global.b64 [%a4+24], %a5;
            ret;
            }
            """

        to, other = numpy.zeros(6, numpy.int32), numpy.zeros(1, numpy.int32)
        with offline.activate(spec="") as session:
            store[(1,)](to, 0.5, -(1 << 40), True, (other, -7), 1)
        self.assertEqual(session.findings, [])
        self.assertEqual(numpy.frombuffer(to[:1].tobytes(), numpy.float32)[0], 0.5)
        self.assertEqual((to[1], to[2:4].view(numpy.int64)[0], other[0]), (1, -(1 << 40), -7))

    def test_a_descriptor_becomes_its_parts(self):
        @triton.jit
        def fill(descriptor):
            """
            .visible .entry fill(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u8 p3, .param .u32 p4,
                                 .param .u64 p5)
            {
            .reg .b32 %r<9>; .reg .b64 %a<9>;
            ld.param.u64 %a1, [p0];
            ld.param.u64 %a2, [p1];
            ld.param.u32 %r1, [p4];
            st.global.b64 [%a1], %a2;
            st.global.b32 [%a1+8], %r1;
            ret;
            }
            """

        class Descriptor:
            def __init__(self, base):
                self.base, self.shape, self.strides, self.padding = base, [base.size], [1], "zero"
                self.base = offline.Array(base)
                self.block_shape = [4]

        to = numpy.zeros(8, numpy.int32)
        with offline.activate(spec="", checks=""):
            fill[(1,)](Descriptor(to))
        self.assertEqual(list(to[:3]), [8, 0, 8])

    def test_a_kernel_that_triton_has_compiled(self):
        def softmax(to, values, stride, columns):
            """Replaced by the PTX."""

        corpus = ROOT / "tests/corpus/frameworks/triton/softmax_kernel.ptx.gz"
        softmax.__doc__ = "// shared = 32\n" + gzip.decompress(corpus.read_bytes()).decode()
        kernel = triton.jit(softmax)
        values = numpy.sin(numpy.arange(16000, dtype=numpy.float32)).reshape(16, 1000)
        to = numpy.zeros_like(values)
        with offline.activate() as session:
            kernel[(16,)](to, values, 1000, 1000)
        expected = numpy.exp(values) / numpy.exp(values).sum(1, keepdims=True)
        self.assertLess(numpy.abs(to - expected).max(), 1e-6)
        self.assertEqual(session.findings, [])
        (memory,) = [each for each in session.run().launches() if each.spec == "memory_efficiency"]
        self.assertEqual(memory.results["load_bytes_asked"], 4 * values.size)
        (sites,) = session.run().sites()
        self.assertIn("triton_kernels.py", {os.path.basename(each["file"] or "") for each in sites.instructions()})
        with offline.activate() as session, self.assertRaises(lynxpp.KernelError):
            kernel[(16,)](to, values[:15].copy(), 1000, 1000)
        self.assertIn("60000 bytes of argument 2 (values)", session.findings[0].message)
        self.assertRegex(session.findings[0].message, r"triton_kernels.py:10 ")

    def test_errors_say_what_cannot_be_launched(self):
        with offline.activate(spec="", checks=""):
            with self.assertRaisesRegex(lynxpp.Error, "x is a tensor on"):
                add_kernel[(1,)](Tensor(ones(4), device="cuda"), ones(4), 4, BLOCK=64)
            add_kernel[(0,)](ones(4), ones(4), 4, BLOCK=64)  # an empty grid is not launched

        @triton.jit
        def clustered(x):
            """
            // num_ctas = 2
            .visible .entry clustered(.param .u64 p0) { ret; }
            """

        with offline.activate(spec="", checks=""), self.assertRaisesRegex(lynxpp.Error, "num_ctas"):
            clustered[(1,)](ones(4))


PROGRAM = '''
import sys
import numpy, triton
from triton import language as tl

@triton.jit
def scale(x, factor, n, BLOCK: tl.constexpr):
    """
    .visible .entry scale(.param .u64 p0, .param .f32 p1, .param .u32 p2)
    {
    .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .f32 %f<9>;
    ld.param.u64 %a1, [p0];
    ld.param.f32 %f1, [p1];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %a2, %r1, 4;
    add.u64 %a1, %a1, %a2;
    //@ 2
    ld.global.f32 %f2, [%a1];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%a1], %f2;
    ret;
    }
    """

x = numpy.ones(int(sys.argv[1]), numpy.float32)
scale[(1,)](x, 3.0, x.size, BLOCK=128)
print(x.sum())
sys.exit(int(sys.argv[2]))
'''


class Command(unittest.TestCase):
    def run_command(self, *words, fake=True):
        environment = {**os.environ, "PYTHONPATH": str(FAKE) if fake else ""}
        return subprocess.run(
            [BUILD.command, "triton", "--python", sys.executable, *words],
            env=environment, capture_output=True, text=True, cwd=self.folder,
        )

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        pathlib.Path(folder.name, "program.py").write_text(PROGRAM)

    def test_counts_and_finds(self):
        run = self.run_command("-o", "out.jsonl", "program.py", "128", "5")
        self.assertEqual((run.returncode, run.stdout), (5, "384.0\n"), run.stderr)
        self.assertIn("1 kernel, 1 launch on cpu, compiled for sm_89", run.stderr)
        self.assertIn("no findings in 1 checked launch\n", run.stderr)
        self.assertIn("The records are in out.jsonl", run.stderr)
        records = map(json.loads, pathlib.Path(self.folder, "out.jsonl").read_text().splitlines())
        found = [each for each in records if each.get("spec") == "instruction_count"]
        self.assertEqual([each["results"]["thread_instructions"] for each in found], [128 * 9])

    def test_findings_are_printed_if_the_kernel_fails(self):
        run = self.run_command("program.py", "100", "0")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("lynxpp.errors.KernelError", run.stderr)
        self.assertIn("out of bounds in kernel scale, 28 times:", run.stderr)
        self.assertIn("program.py:8", run.stderr)
        self.assertEqual(run.stderr.count("just past the end of 400 bytes of argument 1 (x)"), 3)
        self.assertIn("2 findings in 1 checked launch\n", run.stderr)

    def test_exit_statuses(self):
        self.assertEqual(self.run_command("--error-exit", "9", "program.py", "100", "0").returncode, 9)
        self.assertEqual(self.run_command("--error-exit", "9", "program.py", "128", "0").returncode, 0)
        self.assertEqual(self.run_command("--checks", "none", "--error-exit", "9", "program.py", "100", "0").returncode, 1)
        missing = self.run_command("program.py", "128", "0", fake=False)
        self.assertEqual(missing.returncode, 2)
        self.assertNotIn("summary", missing.stderr)  # of an earlier run
        with_status = self.run_command("program.py", "128", "2")
        self.assertEqual(with_status.returncode, 2)
        self.assertIn("summary", with_status.stderr)
        self.assertIn("pip install triton", missing.stderr)
        self.assertEqual(self.run_command("nothing.py").returncode, 2)
        pathlib.Path(self.folder, "idle.py").write_text("print('idle')")
        idle = self.run_command("idle.py")
        self.assertEqual((idle.returncode, idle.stdout), (3, "idle\n"))
        self.assertIn("launched no Triton kernel", idle.stderr)


if __name__ == "__main__":
    unittest.main()
