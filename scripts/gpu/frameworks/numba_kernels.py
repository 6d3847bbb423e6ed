"""A kernel that Numba compiles."""
import numpy as np
from numba import cuda


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


x, y = cuda.to_device(np.arange(10000, dtype=np.float32)), cuda.to_device(np.ones(10000, dtype=np.float32))
for _ in range(4):
    axpy[40, 256](np.float32(2), x, y)
print(float(y.copy_to_host().sum()))
