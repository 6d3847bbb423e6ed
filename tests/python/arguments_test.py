"""lynxpp.arguments: which bytes a kernel gets for a Python value. Needs no library.

usage: arguments_test.py BUILD_FOLDER
"""
import array
import ctypes
import struct
import sys
import unittest

import support
from lynxpp import PtxError, arguments, out, tensor_map


def kernel(parameters, directives=""):
    (entry,) = arguments.entries(support.module("", parameters, directives=directives))
    return entry


def packed(kind, value):
    return arguments.convert(kernel(f".param .{kind} x"), [value])[0]


class Parameters(unittest.TestCase):
    def test_all_forms(self):
        entry = kernel(
            """.param .u64 .ptr .global .align 16 a, // a comment, with a comma
            .param .align 8 .b8 b[24], /* .param .u32 not_this, */ .param .f32 c,
            .param .u64 .ptr .align 1 d, .param .bf16 e, .param .align 4 .u32 f[2], .param .f16x2 g"""
        )
        self.assertEqual(
            [tuple(each) for each in entry.parameters],
            [
                ("a", "u64", 8, False),
                ("b", "b8", 24, True),
                ("c", "f32", 4, False),
                ("d", "u64", 8, False),
                ("e", "bf16", 2, False),
                ("f", "u32", 8, True),
                ("g", "f16x2", 4, False),
            ],
        )

    def test_kernels_of_a_module(self):
        text = '.file 1 "a // b.cu"\n.entry one()\n{ }\n// .entry no()\n.visible .entry two ( .param .u32 x )\n.maxntid 64\n{ }\n.entry three { }'
        self.assertEqual(
            [(each.name, len(each.parameters)) for each in arguments.entries(text)],
            [("one", 0), ("two", 1), ("three", 0)],
        )

    def test_required_block(self):
        self.assertIsNone(kernel("", ".maxntid 64").block)
        self.assertEqual(kernel("", ".reqntid 64").block, (64, 1, 1))
        self.assertEqual(kernel("", ".minnctapersm 1 .reqntid 8, 4 , 2").block, (8, 4, 2))

    def test_unknown_parameter(self):
        with self.assertRaisesRegex(PtxError, "cannot understand the parameter '.param .u7 x'"):
            kernel(".param .u7 x")


class Numbers(unittest.TestCase):
    def test_become_the_type_of_the_parameter(self):
        for kind, value, expected in (
            ("u32", 7, "<I"),
            ("s32", -7, "<i"),
            ("u64", 1 << 63, "<Q"),
            ("b16", 9, "<H"),
            ("s8", -1, "<b"),
            ("f32", 0.5, "<f"),
            ("f32", 2, "<f"),
            ("f64", 0.1, "<d"),
            ("f16", 1.5, "<e"),
        ):
            self.assertEqual(packed(kind, value), struct.pack(expected, value), (kind, value))

    def test_compilers_declare_signed_parameters_as_unsigned(self):
        self.assertEqual(packed("u32", -1), b"\xff" * 4)
        self.assertEqual(packed("s32", 0xFFFFFFFF), b"\xff" * 4)

    def test_bf16_rounds_to_nearest_even(self):
        for value, expected in (
            (1.0, 0x3F80),
            (1 + 2**-8, 0x3F80),
            (1 + 3 * 2**-8, 0x3F82),
            (1 + 2**-8 + 2**-20, 0x3F81),
            (-2.0, 0xC000),
            (float("inf"), 0x7F80),
        ):
            self.assertEqual(packed("bf16", value), expected.to_bytes(2, "little"), value)
        nan = int.from_bytes(packed("bf16", float("nan")), "little")
        self.assertTrue(nan & 0x7F80 == 0x7F80 and nan & 0x7F)

    def test_explicit_types(self):
        self.assertEqual(packed("b32", ("f32", 0.5)), struct.pack("<f", 0.5))
        self.assertEqual(packed("b16", (".bf16", 1.0)), b"\x80\x3f")
        self.assertEqual(packed("u64", ctypes.c_double(0.5)), struct.pack("<d", 0.5))
        self.assertEqual(packed("u64", None), bytes(8))
        self.assertEqual(packed("u8", True), b"\x01")

    def test_errors_name_the_argument(self):
        for kind, value, error, text in (
            ("u32", 1 << 32, OverflowError, r"argument 1 \(x\): 4294967296 does not fit into .u32"),
            ("u32", -(1 << 31) - 1, OverflowError, "does not fit"),
            (
                "u32",
                1.0,
                TypeError,
                r'argument 1 \(x\) is a float, but the parameter is .u32: pass an int, or \("f32", 1.0\)',
            ),
            ("u32", ("u64", 1), TypeError, "has 8 bytes, but the parameter is .u32 with 4"),
            ("u32", ("int", 1), ValueError, "no number has the type 'int'"),
            ("f32", "text", TypeError, "is a str: neither a number nor an array"),
            (
                "u32",
                bytearray(4),
                TypeError,
                r"argument 1 \(x\) is an array, but the parameter is .u32, not an address",
            ),
            ("texref", None, PtxError, "is a .texref"),
        ):
            with self.subTest(kind=kind, value=value), self.assertRaisesRegex(error, text):
                packed(kind, value)

    def test_count_is_checked(self):
        with self.assertRaisesRegex(
            TypeError, r"kernel k has 2 parameters \(.u64, .b8\[16\]\), but 1 argument is given"
        ):
            arguments.convert(kernel(".param .u64 a, .param .align 4 .b8 b[16]"), [None])


class Aggregates(unittest.TestCase):
    ENTRY = kernel(".param .align 4 .b8 x[8]")

    def test_are_passed_by_value(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int)]

        for value in (Pair(1, 2), struct.pack("<ii", 1, 2), array.array("i", [1, 2])):
            self.assertEqual(arguments.convert(self.ENTRY, [value]), [struct.pack("<ii", 1, 2)])

    def test_must_have_the_size(self):
        with self.assertRaisesRegex(TypeError, r"argument 1 \(x\) has 7 bytes, but the parameter has 8"):
            arguments.convert(self.ENTRY, [bytes(7)])


class Arrays(unittest.TestCase):
    ENTRY = kernel(".param .u64 a, .param .u64 b, .param .u64 c")

    def groups(self, *values):
        return arguments.group(arguments.convert(self.ENTRY, values))

    def test_separate_arrays_have_separate_memory(self):
        groups, size = self.groups(bytearray(300), bytes(8), bytearray(4))
        self.assertEqual(len(groups), 3)
        spans = sorted((each.at, each.at + each.bytes) for each in groups)
        self.assertTrue(all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:])), spans)
        self.assertLessEqual(spans[-1][1], size)

    def test_views_of_one_array_share_memory(self):
        whole = memoryview(bytearray(100))
        groups, _ = self.groups(whole[40:100], bytearray(8), whole[0:50])
        shared = next(each for each in groups if len(each.buffers) == 2)
        self.assertEqual(shared.bytes, 100)
        self.assertEqual(sorted((number, offset) for number, offset, _ in shared.buffers), [(1, 40), (3, 0)])

    def test_views_that_touch_do_not_share(self):
        whole = memoryview(bytearray(100))
        self.assertEqual(len(self.groups(whole[:50], whole[50:], bytearray(1))[0]), 3)

    def test_an_array_within_another_extends_nothing(self):
        whole = memoryview(bytearray(100))
        groups, _ = self.groups(whole, whole[10:20], whole[90:])
        self.assertEqual([(each.bytes, len(each.buffers)) for each in groups], [(100, 3)])

    def test_empty_arrays(self):
        groups, size = self.groups(bytearray(), array.array("f"), None)
        self.assertEqual(([each.bytes for each in groups], size), ([0, 0], 0))

    def test_outputs_must_be_writable(self):
        with self.assertRaisesRegex(TypeError, r"argument 2 \(b\) is an output, but it is read-only"):
            self.groups(None, out(bytes(4)), None)

    def test_memory_must_be_contiguous(self):
        with self.assertRaisesRegex(ValueError, r"argument 3 \(c\) is not contiguous in memory"):
            self.groups(None, None, memoryview(bytearray(8))[::2])


class TensorMaps(unittest.TestCase):
    def test_have_the_fastest_dimension_first(self):
        self.assertEqual(
            tensor_map(bytearray(96), (3, 4, 4), (1, 2, 4), "f16", 64).description(),
            {"type": 6, "extents": [4, 4, 3], "strides": [8, 32], "box": [4, 2, 1], "swizzle": 2},
        )
        self.assertEqual(tensor_map(bytearray(8), (8,), (2,), "u8").description()["strides"], [])

    def test_replace_aggregates_of_128_bytes(self):
        made = tensor_map(out(bytearray(8)), (8,), (2,), "u8")
        (buffer,) = arguments.convert(kernel(".param .align 64 .b8 map[128]"), [made])
        self.assertEqual((buffer.tensor_map, buffer.bytes, buffer.is_output), (made, 8, True))
        with self.assertRaisesRegex(TypeError, r"argument 1 \(x\) is a tensor map of 128 bytes, but the parameter has 8"):
            arguments.convert(kernel(".param .u64 x"), [made])

    def test_mistakes(self):
        for shape, box, kind, swizzle in (((), (), "u8", 0), ((2,), (2, 2), "u8", 0), ((2,), (2,), "s8", 0), ((2,), (2,), "u8", 16)):
            with self.subTest(shape=shape, kind=kind), self.assertRaisesRegex(ValueError, "a tensor map has"):
                tensor_map(bytearray(4), shape, box, kind, swizzle)


class Extents(unittest.TestCase):
    def test_one_to_three_integers(self):
        self.assertEqual(
            [arguments.extent(each, "grid") for each in (5, (5,), [2, 3], (2, 3, 4))],
            [[5, 1, 1], [5, 1, 1], [2, 3, 1], [2, 3, 4]],
        )

    def test_others_are_errors(self):
        for value in (0, -1, 1.5, (), (1, 2, 3, 4), (1, 0), "8", None, 1 << 32):
            with self.subTest(value=value), self.assertRaisesRegex(
                ValueError, "the grid must be one to three positive integers"
            ):
                arguments.extent(value, "grid")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
