"""Triton attention with small tiles of queries and keys, and with what the advice of `lynxpp limits` changes.

usage: attention.py all|VARIANT LAUNCHES    all: times every variant and compares its result with the first one's
"""
import os
import sys
import tempfile

os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from timed import run  # noqa: E402

HEADS, LENGTH, WIDTH = 16, 1024, 64
# Tiles of queries and keys, warps, stages, exponentials to base 2.
VARIANTS = {"slow": (16, 16, 4, 1, False), "special-function": (16, 16, 4, 1, True), "reuse": (64, 64, 4, 1, False),
            "waiting": (16, 16, 1, 1, False), "reuse and waiting": (128, 64, 8, 3, True)}


@triton.jit
def attend(output, query, key, value, length, WIDTH: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, TO_BASE_2: tl.constexpr):
    head = tl.program_id(1) * length * WIDTH
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    width = tl.arange(0, WIDTH)
    own = tl.load(query + head + rows[:, None] * WIDTH + width[None, :])
    most = tl.full((ROWS,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((ROWS,), dtype=tl.float32)
    total = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    scale = WIDTH**-0.5
    if TO_BASE_2:
        scale *= 1.4426950408889634
    for begin in range(0, length, TILE):
        others = begin + tl.arange(0, TILE)
        keys = tl.load(key + head + others[None, :] * WIDTH + width[:, None])
        scores = tl.dot(own, keys) * scale
        greatest = tl.maximum(most, tl.max(scores, axis=1))
        if TO_BASE_2:
            shrink = tl.exp2(most - greatest)
            grown = tl.exp2(scores - greatest[:, None])
        else:
            shrink = tl.exp(most - greatest)
            grown = tl.exp(scores - greatest[:, None])
        weight = weight * shrink + tl.sum(grown, axis=1)
        values = tl.load(value + head + others[:, None] * WIDTH + width[None, :])
        total = tl.dot(grown.to(tl.float16), values, total * shrink[:, None])
        most = greatest
    tl.store(output + head + rows[:, None] * WIDTH + width[None, :], (total / weight[:, None]).to(tl.float16))


def main():
    generator = torch.Generator(device="cuda").manual_seed(1)
    query, key, value = (torch.randn(HEADS, LENGTH, WIDTH, device="cuda", generator=generator).to(torch.float16) for _ in range(3))
    output = torch.empty_like(query)

    def launch(variant):
        rows, tile, warps, stages, to_base_2 = VARIANTS[variant]
        attend[(LENGTH // rows, HEADS)](output, query, key, value, LENGTH, WIDTH=WIDTH, ROWS=rows, TILE=tile, TO_BASE_2=to_base_2,
                                        num_warps=warps, num_stages=stages)
        return output
    return run(sys.argv, list(VARIANTS), launch, 2e-2)


if __name__ == "__main__":
    sys.exit(main())
