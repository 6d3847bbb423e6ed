"""Four Triton kernels that move data by loads, stores, cp.async and ldmatrix: softmax, matrix product, layer norm, attention."""
import os
import sys
import tempfile

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def softmax_rows(output, source, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(source + row * row_stride + at, mask=inside, other=-float("inf"))
    grown = tl.exp(values - tl.max(values, axis=0))
    tl.store(output + row * row_stride + at, grown / tl.sum(grown, axis=0), mask=inside)


@triton.jit
def multiply(output, a, b, size, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for begin in range(0, size, TILE_K):
        left = tl.load(a + m[:, None] * size + (begin + k)[None, :], mask=(begin + k)[None, :] < size, other=0.0)
        right = tl.load(b + (begin + k)[:, None] * size + n[None, :], mask=(begin + k)[:, None] < size, other=0.0)
        total = tl.dot(left, right, total)
    tl.store(output + m[:, None] * size + n[None, :], total.to(tl.float16))


@triton.jit
def normalize(output, source, weight, bias, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    mean = tl.zeros((BLOCK,), dtype=tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        mean += tl.load(source + row + at, mask=at < columns, other=0.0)
    center = tl.sum(mean, axis=0) / columns
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        apart = tl.where(at < columns, tl.load(source + row + at, mask=at < columns, other=0.0) - center, 0.0)
        squares += apart * apart
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / columns + epsilon)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        inside = at < columns
        value = (tl.load(source + row + at, mask=inside, other=0.0) - center) * scale
        value = value * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
        tl.store(output + row + at, value, mask=inside)


@triton.jit
def attend(output, query, key, value, length, WIDTH: tl.constexpr, TILE: tl.constexpr):
    head = tl.program_id(1) * length * WIDTH
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    width = tl.arange(0, WIDTH)
    own = tl.load(query + head + rows[:, None] * WIDTH + width[None, :])
    most = tl.full((TILE,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((TILE,), dtype=tl.float32)
    total = tl.zeros((TILE, WIDTH), dtype=tl.float32)
    for begin in range(0, length, TILE):
        others = begin + tl.arange(0, TILE)
        keys = tl.load(key + head + others[None, :] * WIDTH + width[:, None])
        scores = tl.dot(own, keys) * (WIDTH**-0.5)
        greatest = tl.maximum(most, tl.max(scores, axis=1))
        shrink = tl.exp(most - greatest)
        grown = tl.exp(scores - greatest[:, None])
        weight = weight * shrink + tl.sum(grown, axis=1)
        values = tl.load(value + head + others[:, None] * WIDTH + width[None, :])
        total = tl.dot(grown.to(tl.float16), values, total * shrink[:, None])
        most = greatest
    tl.store(output + head + rows[:, None] * WIDTH + width[None, :], (total / weight[:, None]).to(tl.float16))


def close(name, found, expected, tolerance):
    right = torch.allclose(found.float(), expected.float(), rtol=tolerance, atol=tolerance)
    print(f"{name}: {'right' if right else 'WRONG'}")
    return right


def main():
    generator = torch.Generator(device="cuda").manual_seed(1)

    def numbers(*shape, dtype=torch.float32):
        return torch.randn(*shape, device="cuda", generator=generator).to(dtype)

    rows = numbers(2048, 1000)
    softmax = torch.empty_like(rows)
    softmax_rows[(2048,)](softmax, rows, 1000, 1000, BLOCK=1024)
    right = close("softmax of 2048 x 1000", softmax, torch.softmax(rows, dim=1), 1e-5)

    a, b = numbers(1024, 1024, dtype=torch.float16), numbers(1024, 1024, dtype=torch.float16)
    product = torch.empty_like(a)
    multiply[(8, 8)](product, a, b, 1024, TILE_M=128, TILE_N=128, TILE_K=32, num_warps=8, num_stages=3)
    right &= close("product of 1024 x 1024", product, a @ b, 2e-2)

    weight, bias = numbers(1000), numbers(1000)
    normal = torch.empty_like(rows)
    normalize[(2048,)](normal, rows, weight, bias, 1000, 1e-5, BLOCK=256)
    right &= close("layer norm of 2048 x 1000", normal, torch.nn.functional.layer_norm(rows, (1000,), weight, bias), 1e-4)

    query, key, value = (numbers(8, 1024, 64, dtype=torch.float16) for _ in range(3))
    attention = torch.empty_like(query)
    attend[(16, 8)](attention, query, key, value, 1024, WIDTH=64, TILE=64)
    expected = torch.softmax(query.float() @ key.float().transpose(1, 2) / 8, dim=2) @ value.float()
    right &= close("attention of 8 x 1024 x 64", attention, expected, 2e-2)
    torch.cuda.synchronize()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
