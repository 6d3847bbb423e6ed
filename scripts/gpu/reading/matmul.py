"""A Triton matrix product with small tiles, and with what the advice of `lynxpp limits` changes.

usage: matmul.py all|VARIANT LAUNCHES    all: times every variant and compares its result with the first one's
"""
import os
import sys
import tempfile

os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from timed import run  # noqa: E402

SIZE = 1024
# Tiles of m, n and k, warps, stages.
VARIANTS = {"slow": (32, 32, 32, 4, 1), "reuse": (128, 128, 32, 8, 1), "waiting": (32, 32, 32, 4, 3), "reuse and waiting": (128, 128, 64, 8, 3)}


@triton.jit
def multiply(output, a, b, size, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for begin in range(0, size, TILE_K):
        left = tl.load(a + m[:, None] * size + (begin + k)[None, :])
        right = tl.load(b + (begin + k)[:, None] * size + n[None, :])
        total = tl.dot(left, right, total)
    tl.store(output + m[:, None] * size + n[None, :], total.to(tl.float16))


def main():
    generator = torch.Generator(device="cuda").manual_seed(1)
    a, b = (torch.randn(SIZE, SIZE, device="cuda", generator=generator).to(torch.float16) for _ in range(2))
    product = torch.empty_like(a)

    def launch(variant):
        m, n, k, warps, stages = VARIANTS[variant]
        multiply[(SIZE // m, SIZE // n)](product, a, b, SIZE, TILE_M=m, TILE_N=n, TILE_K=k, num_warps=warps, num_stages=stages)
        return product
    return run(sys.argv, list(VARIANTS), launch, 2e-2)


if __name__ == "__main__":
    sys.exit(main())
