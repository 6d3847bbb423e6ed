"""A Triton kernel defined by the program on two GPUs, each driven by a thread with four streams."""
import os
import sys
import tempfile
import threading

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

if torch.cuda.device_count() < 2:
    sys.exit("needs two GPUs")


@triton.jit
def scale_kernel(x, out, count, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * factor, mask=mask)


sums = [None, None]


def work(device):
    with torch.cuda.device(device):
        x = torch.arange(50000, device=device, dtype=torch.float32)
        outs = [torch.empty_like(x) for _ in range(4)]
        torch.cuda.synchronize()
        streams = [torch.cuda.Stream() for _ in outs]
        for i in range(40):
            with torch.cuda.stream(streams[i % 4]):
                scale_kernel[(triton.cdiv(x.numel(), 512),)](x, outs[i % 4], x.numel(), float(i + device), BLOCK=512)
        torch.cuda.synchronize()
        sums[device] = [float(out.double().sum()) for out in outs]


threads = [threading.Thread(target=work, args=(device,)) for device in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sums)
