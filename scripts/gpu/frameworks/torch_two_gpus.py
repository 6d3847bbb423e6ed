"""Training over two GPUs of one process (threads, peer copies, NCCL); prints a digest of the weights, the same in every run."""
import hashlib
import sys

import torch

if torch.cuda.device_count() < 2:
    sys.exit("needs two GPUs")
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
layers = [torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 10)]
model = torch.nn.DataParallel(torch.nn.Sequential(*layers).cuda(), device_ids=[0, 1])
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
inputs, targets = torch.randn(512, 256, device="cuda"), torch.randint(10, (512,), device="cuda")
for _ in range(20):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
parts = [torch.full((1000,), float(device + 1), device=device) for device in range(2)]
torch.cuda.nccl.all_reduce(parts)
digest = hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters()))
print(float(loss), digest.hexdigest(), [float(part.sum()) for part in parts])
