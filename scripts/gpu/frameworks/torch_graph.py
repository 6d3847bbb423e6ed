"""A captured CUDA graph, replayed on its own stream, concurrently with a thread that launches too."""
import threading
import torch

torch.manual_seed(1)
matrix, vector = torch.randn(512, 512, device="cuda"), torch.randn(512, device="cuda")
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    torch.tanh(matrix @ vector)
stream.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, stream=stream):
    out = torch.tanh(matrix @ vector) + 1
beside = []


def work():
    value = torch.ones(1000, device="cuda")
    for _ in range(200):
        value = value * 1.001
    beside.append(float(value.sum()))


thread = threading.Thread(target=work)
thread.start()
for _ in range(50):
    graph.replay()
thread.join()
torch.cuda.synchronize()
print(float(out.double().sum()), beside)
