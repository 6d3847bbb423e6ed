// Each thread follows a chain of indices at random addresses. The launch asks for 100 KiB of shared memory
// that the kernel does not use, so that a multiprocessor holds two blocks, too few to hide the latency.
// Mended: without it.
#include "examples/limits/pair.h"

constexpr int threads = 128, steps = 16;
constexpr std::size_t unused_bytes = 100 << 10;

__device__ void follow(const int* next, int* out, int n) {
  extern __shared__ int unused[];
  const int i = blockIdx.x * threads + threadIdx.x;
  if (n < 0) unused[threadIdx.x] = i;  // never
  int at = static_cast<int>(i * 2654435761u % n);
  for (int step = 0; step < steps; ++step) at = next[at];  // fault
  out[i] = at;
}

__global__ void slow(const int* next, int* out, int n) { follow(next, out, n); }
__global__ void mended(const int* next, int* out, int n) { follow(next, out, n); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 16 * pair::multiprocessors);  // blocks
  const int blocks = command.size(), n = std::min(blocks * 8192, 1 << 24);
  const auto results = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<int> next(pair::integers<int>(n, n, 58)), out(results);
  CUDA_CHECK(cudaFuncSetAttribute(slow, cudaFuncAttributeMaxDynamicSharedMemorySize, unused_bytes));
  return command.run(
      "low_occupancy", out, [&] { slow<<<blocks, threads, unused_bytes>>>(next.get(), out.get(), n); },
      [&] { mended<<<blocks, threads>>>(next.get(), out.get(), n); });
}
