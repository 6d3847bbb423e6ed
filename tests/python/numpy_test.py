"""Kernels of Triton and Inductor on NumPy arrays, compared with NumPy.

usage: numpy_test.py BUILD_FOLDER
"""
import gzip
import sys
import unittest

from support import ADD, ROOT, SKIPPED, module
import lynxpp

try:
    import numpy
except ImportError:
    print("numpy (python3-numpy) is not installed")
    sys.exit(SKIPPED)

RANDOM = numpy.random.default_rng(7)


def framework(name):
    return gzip.decompress((ROOT / "tests/corpus/frameworks" / f"{name}.ptx.gz").read_bytes())


def normal(*shape):
    return RANDOM.normal(size=shape).astype(numpy.float32)


class Triton(unittest.TestCase):
    def softmax(self, values, run=lynxpp.run_ptx, **options):
        result = numpy.full_like(values, numpy.nan)
        rows, columns = values.shape
        return result, run(
            framework("triton/softmax_kernel"),
            rows,
            128,
            [result, values, columns, columns, None, None],
            shared_bytes=64,
            **options,
        )

    def test_softmax(self):
        for columns in (1, 37, 128, 1000):
            values = normal(9, columns)
            result, _ = self.softmax(values)
            expected = numpy.exp(values - values.max(axis=1, keepdims=True))
            numpy.testing.assert_allclose(
                result, expected / expected.sum(axis=1, keepdims=True), rtol=2e-6, err_msg=str(columns)
            )

    def test_softmax_is_measured(self):
        _, run = self.softmax(normal(4, 256), spec="memory_efficiency")
        (launch,) = run.launches()
        self.assertEqual(
            (launch.results["load_bytes_asked"], launch.results["store_bytes_asked"]), (4 * 1024, 4 * 1024)
        )
        (sites,) = run.sites()
        self.assertTrue(
            any(
                site["file"].endswith("triton_kernels.py") and site["line"]
                for site in sites.instructions()
                if site["file"]
            )
        )

    def test_softmax_has_no_finding(self):
        self.assertEqual(self.softmax(normal(4, 100), lynxpp.check_ptx)[1], [])

    def test_too_small_a_result_is_found_at_its_python_line(self):
        values = normal(2, 128)
        (finding,) = lynxpp.check_ptx(
            framework("triton/softmax_kernel"),
            2,
            128,
            [values[:1].copy(), values, 128, 128, None, None],
            shared_bytes=64,
        )
        self.assertEqual((finding.kind, finding.block, finding.count), ("out of bounds", (1, 0, 0), 128))
        self.assertRegex(finding.source_file, "triton_kernels.py$")
        self.assertIn("512 bytes of argument 1 (softmax_kernel_param_0)", finding.message)

    def test_layer_norm(self):
        values, weight, bias = normal(7, 1000), normal(1000), normal(1000)
        result = numpy.zeros_like(values)
        lynxpp.run_ptx(
            framework("triton/layernorm_kernel"),
            7,
            128,
            [values, result, weight, bias, 1000, 1e-5, None, None],
            shared_bytes=8192,
        )
        centred = values - values.mean(axis=1, keepdims=True)
        expected = centred / numpy.sqrt(values.var(axis=1, keepdims=True) + 1e-5) * weight + bias
        numpy.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-6)

    def test_matrix_product_on_warpgroups(self):
        left = numpy.round(normal(128, 128) * 4).astype(numpy.float16)
        right = numpy.round(normal(128, 128) * 4).astype(numpy.float16)
        result = numpy.zeros((128, 128), numpy.float16)
        lynxpp.run_ptx(
            framework("triton/matmul_kernel"),
            (1, 1),
            256,
            [left, right, result, 128, 128, 128, None, None],
            shared_bytes=98304,
        )
        product = left.astype(numpy.float32) @ right.astype(numpy.float32)
        numpy.testing.assert_array_equal(result, product.astype(numpy.float16))

    def test_silu_of_inductor_in_place(self):
        gate, up = normal(1024).astype(numpy.float16), normal(1024).astype(numpy.float16)
        values, gate32 = gate.copy(), gate.astype(numpy.float32)
        lynxpp.run_ptx(
            framework("inductor-llama/triton_poi_fused__unsafe_view_mul_silu_7"),
            1024 // 256,
            128,
            [values, up, 1024, None, None],
        )
        numpy.testing.assert_allclose(values, gate32 / (1 + numpy.exp(-gate32)) * up, rtol=1e-3, atol=1e-7)


class Values(unittest.TestCase):
    STORE = module(
        "ld.param.u64 %a1, [to]; ld.param.f32 %f1, [a]; st.global.f32 [%a1], %f1; ld.param.u32 %r1, [b]; st.global.u32 [%a1+4], %r1;",
        ".param .u64 to, .param .f32 a, .param .u32 b",
    )

    def test_scalars_of_numpy(self):
        for a, b in (
            (numpy.float32(0.5), numpy.int32(-3)),
            (numpy.float64(0.5), numpy.int64(-3)),
            (numpy.float16(0.5), numpy.int8(-3)),
        ):
            result = numpy.zeros(2, numpy.float32)
            lynxpp.run_ptx(self.STORE, 1, 1, [result, a, b])
            self.assertEqual((result[0], result.view(numpy.int32)[1]), (0.5, -3))

    def test_layouts(self):
        numbers = numpy.arange(12, dtype=numpy.int32).reshape(3, 4)
        for values in (
            numbers,
            numbers.T,
            numbers.copy(order="F"),
            numbers[1:2],
            numpy.array(5, numpy.int32),
        ):
            result = numpy.zeros_like(values)
            lynxpp.run_ptx(ADD, 1, values.size, [result, values, 1])
            numpy.testing.assert_array_equal(result, values + 1)

    def test_arrays_with_gaps_are_refused(self):
        numbers = numpy.zeros((4, 4), numpy.int32)
        with self.assertRaisesRegex(
            ValueError, r"argument 2 \(from\) is not contiguous in memory; pass numpy.ascontiguousarray"
        ):
            lynxpp.run_ptx(ADD, 1, 4, [numbers, numbers[:, 1], 1])
        with self.assertRaisesRegex(TypeError, "is an array of Python objects"):
            lynxpp.run_ptx(ADD, 1, 4, [numbers, numpy.array([None]), 1])

    def test_types_without_a_buffer_format(self):
        times = numpy.zeros(2, "datetime64[s]")
        lynxpp.run_ptx(ADD, 1, 4, [times, numpy.zeros(4, numpy.int32), 1])
        self.assertEqual(times.view(numpy.int32).tolist(), [1, 1, 1, 1])

    def test_read_only_arrays_are_only_read(self):
        numbers = numpy.zeros(4, numpy.int32)
        numbers.flags.writeable = False
        result = numpy.zeros(4, numpy.int32)
        lynxpp.run_ptx(ADD, 1, 4, [result, numbers, 1])
        self.assertEqual(result.tolist(), [1] * 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
