"""Triton: softmax of each row, as in Triton's tutorial, then the mean of each column.

usage: columns.py [ROUNDS]    MENDED=1: a program reads tiles of 32 columns rather than one column; 2: of 64 columns,
                              and 16 programs share a column. If MENDED is set, no time includes Python's.
"""
import os
import statistics
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(output_ptr, input_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n_cols
    x = tl.load(input_ptr + row * stride + offsets, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(output_ptr + row * stride + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def column_mean_kernel(mean_ptr, input_ptr, stride, n_rows, BLOCK: tl.constexpr):
    column = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for begin in range(0, n_rows, BLOCK):
        rows = begin + tl.arange(0, BLOCK)
        total += tl.load(input_ptr + rows * stride + column, mask=rows < n_rows, other=0.0)
    tl.store(mean_ptr + column, tl.sum(total, axis=0) / n_rows)


@triton.jit
def column_mean_tiled_kernel(mean_ptr, input_ptr, stride, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for begin in range(0, n_rows, ROWS):
        rows = begin + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & (columns < n_cols)[None, :]
        total += tl.load(input_ptr + rows[:, None] * stride + columns[None, :], mask=mask, other=0.0)
    tl.store(mean_ptr + columns, tl.sum(total, axis=0) / n_rows, mask=columns < n_cols)


@triton.jit
def column_mean_shared_kernel(mean_ptr, input_ptr, stride, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for begin in range(tl.program_id(1) * ROWS, n_rows, tl.num_programs(1) * ROWS):
        rows = begin + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & (columns < n_cols)[None, :]
        total += tl.load(input_ptr + rows[:, None] * stride + columns[None, :], mask=mask, other=0.0)
    tl.atomic_add(mean_ptr + columns, tl.sum(total, axis=0) / n_rows, mask=columns < n_cols)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    torch.manual_seed(0)
    x = torch.randn(4096, 4000, device="cuda")
    y, mean = torch.empty_like(x), torch.empty(x.shape[1], device="cuda")
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if "MENDED" in os.environ:
            torch.cuda._sleep(4_000_000)  # the kernels are queued when the device reaches them
        begin.record()
        softmax_kernel[(x.shape[0],)](y, x, x.stride(0), x.shape[1], BLOCK=4096)
        if os.environ.get("MENDED") == "1":
            # 32 warps: there are fewer programs than multiprocessors, and four warps each would wait for latency.
            column_mean_tiled_kernel[(triton.cdiv(y.shape[1], 32),)](mean, y, y.stride(0), *y.shape, ROWS=512, COLUMNS=32, num_warps=32)
        elif os.environ.get("MENDED") == "2":
            mean.zero_()
            column_mean_shared_kernel[(triton.cdiv(y.shape[1], 64), 16)](mean, y, y.stride(0), *y.shape, ROWS=64, COLUMNS=64)
        else:
            column_mean_kernel[(y.shape[1],)](mean, y, y.stride(0), y.shape[0], BLOCK=1024)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    assert torch.allclose(mean, torch.softmax(x, dim=1).mean(dim=0), rtol=1e-4)
    if rounds > 3:
        print("kernel_ms", *(f"{each:.6f}" for each in (statistics.median(times), *statistics.quantiles(times, n=4)[::2])), file=sys.stderr)
    print(f"mean of column means {float(mean.double().mean()):.6g}")


if __name__ == "__main__":
    main()
