"""Kernels of CuPy: an elementwise one, a raw one and a reduction."""
import os
import tempfile

os.environ["CUPY_CACHE_DIR"] = tempfile.mkdtemp()
import cupy as cp  # noqa: E402

raw = cp.RawKernel(r'''
extern "C" __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 3.0f * x[i];
}''', "scale")
square = cp.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "square")
x = cp.arange(10000, dtype=cp.float32)
y = cp.empty_like(x)
for _ in range(4):
    raw((40,), (256,), (x, y, cp.int32(10000)))
print(float(y.sum()), float(square(x).sum()))
