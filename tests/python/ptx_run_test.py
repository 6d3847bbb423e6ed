"""lynxpp.ptx_run: arguments as text, comparisons and exit codes of `lynxpp ptx run`; lynxpp.elements.

usage: ptx_run_test.py BUILD_FOLDER
"""
import array
import contextlib
import io
import math
import pathlib
import struct
import tempfile
import unittest

from support import ADD, module
from lynxpp import elements
from lynxpp.errors import Error
from lynxpp.ptx_run import Argument, main

# rank[block] = number of blocks in the cluster
CLUSTER = module(
    """ld.param.u64 %a1, [rank];
mov.u32 %r1, %cluster_nctarank;
mov.u32 %r2, %ctaid.x;
mul.wide.u32 %a2, %r2, 4;
add.u64 %a1, %a1, %a2;
st.global.u32 [%a1], %r1;""",
    ".param .u64 rank",
    name="cluster_size",
).replace("sm_80", "sm_90")
AGGREGATE = module(
    """ld.param.u64 %a1, [to];
ld.param.u32 %r1, [values+4];
st.global.u32 [%a1], %r1;""",
    ".param .u64 to, .param .align 4 .b8 values[8]",
)


def filled(text, seed=0, number=1):
    return list(Argument(number, text, seed).elements)


class Fillings(unittest.TestCase):
    def test_follow_the_text(self):
        self.assertEqual(filled("u8[3]=iota"), [0, 1, 2])
        self.assertEqual(filled("i64[2]=const:-5"), [-5, -5])
        self.assertEqual(filled("f16[2,2]=const:0.5"), [0.5] * 4)
        self.assertEqual(filled("s32[3]=1,-2,0x10"), [1, -2, 16])
        self.assertEqual(filled("f32[1]=0.25"), [0.25])
        self.assertEqual(filled("f64[2]"), [0, 0])
        self.assertTrue(math.isnan(filled("bf16[1]=const:nan")[0]))

    def test_random_numbers_depend_on_seed_and_argument_only(self):
        first = filled("f32[100]=random")
        self.assertEqual(first, filled("f32[100]=random"))
        self.assertNotEqual(first, filled("f32[100]=random", seed=1))
        self.assertNotEqual(first, filled("f32[100]=random", number=2))
        self.assertTrue(all(-1 <= each < 1 for each in first))
        self.assertEqual(set(filled("s8[1000]=random:-2:3")), set(range(-2, 4)))
        self.assertEqual(set(filled("f32[1000]=random:-0.5:0.5:0.25")), {-0.5, -0.25, 0, 0.25, 0.5})
        self.assertEqual(set(filled("u8[5000]=random")), set(range(100)))

    def test_only_arrays_without_filling_are_outputs(self):
        self.assertEqual(type(Argument(1, "f32[2]", 0).value).__name__, "out")
        self.assertIsInstance(Argument(1, "f32[2]=zero", 0).value, bytearray)

    def test_arrays_with_a_box_become_tensor_maps(self):
        made = Argument(1, "f16[64,32]:box[8,32]:swizzle64=iota", 0)
        self.assertEqual((made.value.shape, made.value.box, made.value.swizzle), ([64, 32], [8, 32], 64))
        self.assertIs(made.value.array, made.data)
        self.assertEqual(Argument(1, "f32[8]:box[4]", 0).value.swizzle, 0)

    def test_mistakes(self):
        for text, message in {
            "f23[4]=zero": "no type 'f23'",
            "f32[4]=one": "unknown filling 'one'",
            "f32[4]=random:1": "unknown filling",
            "f32[4]=random:2:1": "empty range",
            "f32[]=zero": "no number of elements",
            "f32": "an array is f32[COUNT]=FILL",
            "u32=1.5": "no number of type .u32",
            "u8[300]=iota": "cannot hold",
            "f16[1]=const:1e9": "cannot hold",
            "s32[3]=1,2": "3 elements, but 2 numbers",
            "[4]": "the form is",
            "f32[4,4]:box[4]=zero": "1 to 5 dimensions",
            "f32[4]:box[4]:swizzle65=zero": "swizzle 65",
        }.items():
            with self.subTest(text), self.assertRaises(Error) as caught:
                Argument(1, text, 0)
            self.assertIn(message, str(caught.exception))


class Elements(unittest.TestCase):
    def test_bf16_is_rounded_to_even(self):
        for number, bits in ((1.0, 0x3F80), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (math.inf, 0x7F80), (-2.0, 0xC000)):
            self.assertEqual(struct.unpack("<H", elements.pack("bf16", [number])), (bits,))
        self.assertEqual(list(elements.unpack("bf16", b"\x82\x3f")), [1 + 2**-6])

    def test_the_shortest_number_of_a_type_is_shown(self):
        self.assertEqual(elements.text_of("f32", elements.unpack("f32", elements.pack("f32", [0.1]))[0]), "0.1")
        self.assertEqual(elements.text_of("f64", 0.1 + 0.2), "0.30000000000000004")
        self.assertEqual(elements.text_of("f32", math.nan), "nan")
        self.assertEqual(elements.text_of("f16", 65504.0), "65500")
        self.assertEqual(elements.text_of("s8", -3), "-3")


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = lambda name: str(pathlib.Path(self.folder.name, name))

    def test_npy_files_come_back(self):
        for kind in elements.TYPES:
            data = elements.pack(kind, [1, 0, 3, 4, 5, 6])
            elements.write(self.path("a.npy"), kind, (2, 3), data)
            self.assertEqual(elements.read(self.path("a.npy"), kind), (data, (2, 3)), kind)
        header = pathlib.Path(self.path("a.npy")).read_bytes()
        self.assertEqual((len(header) - 6 * 4) % 64, 0, "NumPy aligns the elements")

    def test_numbers_of_other_types_are_converted(self):
        elements.write(self.path("a.npy"), "f64", (2,), elements.pack("f64", [1, 2.5]))
        self.assertEqual(filled(f"f16[]=@{self.path('a.npy')}"), [1, 2.5])
        with self.assertRaisesRegex(Error, "cannot hold: a fraction is not a .s32"):
            filled(f"s32[2]=@{self.path('a.npy')}")

    def test_files_that_do_not_fit(self):
        pathlib.Path(self.path("raw")).write_bytes(bytes(10))
        elements.write(self.path("a.npy"), "f32", (2,), bytes(8))
        cut = pathlib.Path(self.path("cut.npy"))
        cut.write_bytes(pathlib.Path(self.path("a.npy")).read_bytes()[:-1])
        fortran = pathlib.Path(self.path("fortran.npy"))
        elements.write(fortran, "f32", (1, 2), bytes(8))
        fortran.write_bytes(fortran.read_bytes().replace(b"'fortran_order': False", b"'fortran_order': True "))
        for text, message in {
            "f32[]=@raw": "not a multiple of .f32's 4",
            "f16[4]=@raw": "4 elements, but .* has 5",
            "f32[]=@none": "No such file",
            "f32[]=@cut.npy": "7 bytes of elements, but its shape .* needs 8",
            "f32[]=@fortran.npy": "Fortran",
        }.items():
            with self.subTest(text), self.assertRaisesRegex(Error, message):
                filled(text.replace("@", f"@{self.folder.name}/"))
        for header in ("{'descr': oops}", "{'descr': '<f4', 'fortran_order': False, 'shape': ('a',)}", "[]", ""):
            cut.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
            with self.subTest(header), self.assertRaisesRegex(Error, "not a valid .npy file"):
                filled(f"f32[]=@{cut}")


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.write("add.ptx", ADD)

    def write(self, name, text):
        pathlib.Path(self.folder.name, name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def run_it(self, *words, file="add.ptx"):
        """Returns the exit code, the output and the messages. '%' in words is the folder."""
        words = [word.replace("%", self.folder.name) for word in words]
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = main([*words, f"{self.folder.name}/{file}"])
        return code, out.getvalue(), err.getvalue()

    def add(self, *words):
        return self.run_it("--grid=2", "--block=32", "--arg=s32[8,8]", "--arg=s32[64]=iota", "--arg=s32=-5", *words)

    def test_results_are_printed_and_written(self):
        self.assertEqual(self.add("--print=1:3", "--output=1=%/sums.npy", "--output=1=%/raw"), (0, "argument 1: -5 -4 -3 …\n", ""))
        data, shape = elements.read(f"{self.folder.name}/sums.npy", "s32")
        self.assertEqual((list(elements.unpack("s32", data)), shape), (list(range(-5, 59)), (8, 8)))
        self.assertEqual(pathlib.Path(self.folder.name, "raw").read_bytes(), bytes(data))

    def test_extents_may_be_written_as_in_tables(self):
        arguments = ["--arg=s32[64]", "--arg=s32[64]=iota", "--arg=s32=-5", "--print=1:2"]
        self.assertEqual(self.run_it("--grid=2x1", "--block=32x1x1", *arguments), (0, "argument 1: -5 -4 …\n", ""))

    def test_results_are_compared(self):
        sums = array.array("i", range(-5, 59))
        self.write("right", sums.tobytes())
        self.assertEqual(self.add("--expect=1=%/right"), (0, "argument 1 (to): 64 elements as expected\n", ""))
        for at in (1, 10, *range(50, 58)):
            sums[at] += 1
        self.write("wrong", sums.tobytes())
        code, out, _ = self.add("--expect=1=%/wrong", "--tolerance=9")
        self.assertEqual(code, 1, "the tolerance is for floating-point numbers")
        self.assertIn("10 of 64 elements differ", out)
        self.assertIn("  [0, 1] is -4, expected -3\n  [1, 2] is 5, expected 6\n", out)
        self.assertTrue(out.endswith("  and 5 more\n"))

    def test_the_tolerance_is_relative_above_one(self):
        copied = ["--grid=1", "--block=4", "--arg=f32[4]=10,0.5,nan,inf", "--arg=f32[4]=10,0.5,nan,inf", "--arg=u32=0"]
        self.write("near", array.array("f", [10.9, 0.5, math.nan, math.inf]).tobytes())
        self.assertEqual(self.run_it(*copied, "--expect=1=%/near", "--tolerance=0.1")[0], 0)
        code, out, _ = self.run_it(*copied, "--expect=1=%/near", "--tolerance=0.08")
        self.assertEqual((code, out.splitlines()[1]), (1, "  [0] is 10, expected 10.9"))
        self.write("far", array.array("f", [10, 0.75, math.nan, 1]).tobytes())
        self.assertIn("2 of 4", self.run_it(*copied, "--expect=1=%/far", "--tolerance=0.2")[1])
        self.write("infinite", array.array("f", [math.inf, 0.5, math.nan, -math.inf]).tobytes())
        self.assertIn("2 of 4", self.run_it(*copied, "--expect=1=%/infinite", "--tolerance=0.2")[1])

    def test_checks(self):
        code, _, err = self.run_it("--check", "--grid=2", "--block=32", "--arg=s32[63]", "--arg=s32[64]=iota", "--arg=s32=0")
        self.assertEqual(code, 1)
        self.assertIn("out of bounds", err)
        self.assertIn("252 bytes of argument 1 (to)", err)
        self.assertTrue(err.endswith("1 finding\n"))
        self.assertEqual(self.add("--check"), (0, "", "no findings\n"))

    def test_what_a_kernel_lacks_is_named(self):
        code, out, err = self.run_it("--grid=2", "--block=32", "--arg=s32[64]")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("3 parameters", err)
        self.assertIn("3 .u32 number", err)
        self.assertIn("argument 3 (number) is an array", self.run_it("--grid=1", "--block=1", *["--arg=s32[64]"] * 3)[2])
        self.assertIn("--block", self.run_it("--grid=1")[2])
        self.assertIn("not X, X,Y", self.add("--cluster=a")[2])
        self.assertIn("not X, X,Y", self.run_it("--grid=2x", "--block=32", *["--arg=s32[64]"] * 3)[2])
        self.assertIn("not enough memory", self.run_it("--grid=1", "--block=1", "--arg=f32[4000000000000]")[2])
        self.assertIn("'4' is not the number", self.add("--print=4")[2])
        self.assertIn("is not an array", self.add("--print=3")[2])
        self.assertIn("illegal address", self.run_it("--grid=2", "--block=32", "--arg=null", "--arg=s32[64]", "--arg=u32=1")[2])

    def test_clusters(self):
        self.write("cluster.ptx", CLUSTER)
        words = ["--grid=4", "--block=1", "--arg=u32[4]", "--print=1"]
        self.assertEqual(self.run_it(*words, "--cluster=2", file="cluster.ptx")[1], "argument 1: 2 2 2 2\n")
        self.assertEqual(self.run_it(*words, file="cluster.ptx")[1], "argument 1: 1 1 1 1\n")
        self.assertIn("clusters of (3, 1, 1)", self.run_it(*words, "--cluster=3", file="cluster.ptx")[2])

    def test_aggregates_are_passed_by_value(self):
        self.write("aggregate.ptx", AGGREGATE)
        words = ["--grid=1", "--block=1", "--arg=u32[1]"]
        self.assertEqual(self.run_it(*words, "--arg=u32[2]=6,7", "--print=1", file="aggregate.ptx")[1], "argument 1: 7\n")
        self.assertIn("2 .b8 values: 8 bytes by value", self.run_it(*words, "--arg=u32[3]=iota", file="aggregate.ptx")[2])

    def test_a_product_on_tensor_cores(self):
        path = pathlib.Path(__file__).parent.parent / "device_simt" / "ptx" / "tensor_core_gemm.ptx"
        text = path.read_text()
        self.write("gemm.ptx", text)
        rows, columns, depth = 256, 128, 128
        fill = "random:-2:3:1"
        a = filled(f"f16[{rows},{depth}]={fill}", number=1)
        b = filled(f"f16[{columns},{depth}]={fill}", number=2)
        lines = [b[i * depth : (i + 1) * depth] for i in range(columns)]
        sums = array.array("f")
        for i in range(rows):
            row = a[i * depth : (i + 1) * depth]
            sums.extend(sum(x * y for x, y in zip(row, line)) for line in lines)
        self.write("product", sums.tobytes())
        words = ["--grid=2,2", "--check", f"--arg=f16[{rows},{depth}]:box[128,64]:swizzle128={fill}",
                 f"--arg=f16[{columns},{depth}]:box[64,64]:swizzle128={fill}", f"--arg=f32[{rows},{columns}]",
                 f"--arg=u32={columns}", f"--arg=u32={depth}", "--expect=3=%/product"]
        code, out, err = self.run_it(*words, file="gemm.ptx")
        self.assertEqual((code, out, err), (0, f"argument 3 (d): {rows * columns} elements as expected\n", "no findings\n"))
        # The sums are loaded before the last products are complete.
        begin, end = text.index("wait_multiplied:\n"), text.index("  xor.b32 %parity")
        self.write("early.ptx", text[:begin] + text[end:])
        code, _, err = self.run_it(*words, file="early.ptx")
        self.assertEqual(code, 1)
        self.assertIn("unfinished operation", err)
        self.assertIn("tcgen05", err)


if __name__ == "__main__":
    unittest.main()
