"""Runs Triton programs by `lynxpp triton` with the real Triton and PyTorch, without using the GPU.

usage: triton_offline.py FOLDER [PYTHON]    FOLDER: an installation or a build folder; PYTHON has Triton and torch

Exits with 0 if every program computes what PyTorch computes on the host, with its counts and findings.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = '''
import sys
import numpy
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def unguarded_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)  # planted: no mask
    tl.store(out_ptr + offsets, x)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + offsets, mask=offsets < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, e / tl.sum(e, axis=0), mask=offsets < columns)


@triton.autotune([triton.Config({"M": 32, "N": 32, "K": 32}, num_warps=4),
                  triton.Config({"M": 64, "N": 64, "K": 32}, num_warps=8)], key=["size"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    sums = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, size, K):
        a = tl.load(a_ptr + rows[:, None] * size + (k + inner)[None, :])
        b = tl.load(b_ptr + (k + inner)[:, None] * size + columns[None, :])
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + rows[:, None] * size + columns[None, :], sums.to(tl.float16))


def add():
    x, y = torch.randn(5000, device="cuda"), torch.randn(5000).cuda()
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(5000, 1024),)](x, y, out, 5000, BLOCK=1024)
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)


def views():
    x = torch.randn(64, 100)
    out = torch.zeros(2, 50)
    add_kernel[(1,)](x[3, 10:], x[4, 10:], out[1], 50, BLOCK=64)
    assert torch.equal(out[1], x[3, 10:60] + x[4, 10:60]) and not out[0].any()


def arrays():
    x, out = numpy.arange(300, dtype=numpy.float32), numpy.zeros(300, numpy.float32)
    add_kernel[(3,)](x, x, out, 300, BLOCK=128)
    assert (out == 2 * x).all()


def softmax():
    device = triton.runtime.driver.active.get_active_torch_device()
    x = torch.randn(16, 1000, device=device)
    out = torch.empty_like(x)
    softmax_kernel[(16,)](x, out, x.stride(0), 1000, BLOCK=1024)
    assert torch.allclose(out, torch.softmax(x, 1), atol=1e-6)


def matmul():
    a, b = (torch.randn(64, 64, dtype=torch.float16) for _ in range(2))
    c = torch.empty(64, 64, dtype=torch.float16)
    matmul_kernel[lambda meta: (64 // meta["M"], 64 // meta["N"])](a, b, c, 64)
    assert matmul_kernel.best_config.kwargs["M"] == 32
    assert torch.allclose(c.float(), a.float() @ b.float(), atol=5e-2, rtol=2e-2)


def planted():
    x, out = torch.zeros(1000), torch.zeros(1024)
    unguarded_kernel[(1,)](x, out, BLOCK=1024)


def timed():
    x = torch.randn(128)
    milliseconds = triton.testing.do_bench(lambda: add_kernel[(1,)](x, x, x, 128, BLOCK=128))
    assert milliseconds != milliseconds


for name in sys.argv[1:]:
    globals()[name]()
    print(name, "is right", flush=True)
'''


def run(home, python, folder, *words):
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TRITON_CACHE_DIR": str(folder / "cache")}
    return subprocess.run([home / "bin" / "lynxpp", "triton", "--python", python, *words], cwd=folder,
                          env=environment, capture_output=True, text=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    home = pathlib.Path(sys.argv[1]).resolve()
    python = sys.argv[2] if len(sys.argv) > 2 else sys.executable
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "program.py").write_text(PROGRAM)

        def expect(what, is_right, done):
            print(f"{'ok' if is_right else 'WRONG'}: {what}", flush=True)
            if not is_right:
                problems.append(what)
                print(done.stdout + done.stderr, flush=True)

        for part in ("add", "views", "arrays", "softmax", "matmul", "timed"):
            done = run(home, python, folder, "-o", "out.jsonl", "program.py", part)
            expect(part, done.returncode == 0 and f"{part} is right" in done.stdout and "no finding" in done.stderr, done)
            records = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
            counted = [each for each in records if each.get("spec") == "instruction_count"]
            expect(f"{part}: counted", counted and all(each["results"]["thread_instructions"] > 0 for each in counted), done)
            lines = {line for each in records if each["record"] == "sites" for line in each["instructions"]["line"]}
            expect(f"{part}: lines of the program", any(line for line in lines if line), done)
        done = run(home, python, folder, "--error-exit", "9", "program.py", "planted")
        line = PROGRAM.split("\n").index("    x = tl.load(x_ptr + offsets)  # planted: no mask") + 1
        expect("planted", done.returncode == 9 and f"program.py:{line}" in done.stderr
               and "4000 bytes of argument 1 (x_ptr)" in done.stderr, done)
        done = run(home, python, folder, "--sm", "90", "program.py", "add", "softmax")
        expect("for sm_90", done.returncode == 0 and "compiled for sm_90" in done.stderr, done)
        done = run(home, python, folder, "--sm", "80", "program.py", "matmul")
        expect("for sm_80", done.returncode == 0 and "compiled for sm_80" in done.stderr, done)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
