"""Triton kernels that move data by cp.async (a pipelined product) and by tensor copies (TMA), softmax and
layer norm, freshly compiled."""
import os
import tempfile

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def softmax_kernel(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    raised = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, raised / tl.sum(raised, axis=0), mask=at < columns)


@triton.jit
def layer_norm_kernel(out, x, weight, bias, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    result = centred * scale * tl.load(weight + at, mask=inside, other=0.0) + tl.load(bias + at, mask=inside, other=0.0)
    tl.store(out + row * columns + at, result, mask=inside)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    from_a, from_b = a + rows[:, None] * K + inner[None, :], b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(tl.load(from_a), tl.load(from_b), total)
        from_a += BK
        from_b += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def tensor_copy_matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    result = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(left.load([row, k]), right.load([k, column]), total)
    result.store([row, column], total.to(tl.float16))


def memory_for_descriptors(size, alignment, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


triton.set_allocator(memory_for_descriptors)
torch.manual_seed(1)
x = torch.randn(2048, 1000, device="cuda")
weight, bias, out = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda"), torch.empty_like(x)
a, b = torch.randn(1024, 1024, device="cuda").half(), torch.randn(1024, 1024, device="cuda").half()
c, d = torch.empty_like(a), torch.empty_like(a)
for _ in range(3):
    softmax_kernel[(2048,)](out, x, 1000, BLOCK=1024)
    first = out.double().sum()
    layer_norm_kernel[(2048,)](out, x, weight, bias, 1000, BLOCK=1024)
    matmul_kernel[(16, 16)](a, b, c, 1024, 1024, 1024, BM=64, BN=64, BK=32, num_stages=3)
    tensor_copy_matmul_kernel[(8, 8)](a, b, d, 1024, 1024, 1024, BM=128, BN=128, BK=64, num_stages=3)
print(float(first), float(out.double().sum()), float(c.double().sum()), float(d.double().sum()))
