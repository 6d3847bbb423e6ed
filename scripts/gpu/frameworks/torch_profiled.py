"""torch.profiler (CUPTI) over a compiled function: it counts equally many kernel launches with and without lynxpp."""
import torch
from torch.profiler import ProfilerActivity, profile


@torch.compile
def function(x, y):
    return (torch.cos(x) * y - x).sum(dim=1)


torch.manual_seed(1)
x, y = torch.randn(1000, 300, device="cuda"), torch.randn(1000, 300, device="cuda")
function(x, y)
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
    for _ in range(5):
        out = function(x, y)
    torch.cuda.synchronize()
kernels = [event for event in profiled.events() if event.device_type == torch.autograd.DeviceType.CUDA and "triton" in event.name]
print(float(out.double().sum()), len(kernels))
