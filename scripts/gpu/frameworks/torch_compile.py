"""A function that torch.compile compiles to a Triton kernel."""
import torch


@torch.compile
def function(x, y):
    return (torch.sin(x) * y + x).sum(dim=1)


torch.manual_seed(1)
x, y = torch.randn(1000, 300, device="cuda"), torch.randn(1000, 300, device="cuda")
for _ in range(3):
    out = function(x, y)
print(float(out.double().sum()))
