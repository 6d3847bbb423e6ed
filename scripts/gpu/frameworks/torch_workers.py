"""A data loader whose forked workers use no GPU, during training in the parent; the workers end by os._exit, as multiprocessing does."""
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.full((64,), float(index))


@torch.compile
def scaled(batch, weight):
    return torch.tanh(batch * weight).sum()


torch.manual_seed(1)
weight = torch.randn(64, device="cuda")
total = 0.0
for epoch in range(2):
    for batch in DataLoader(Numbers(), batch_size=32, num_workers=2, multiprocessing_context="fork"):
        total += float(scaled(batch.cuda(), weight))
print(total)
