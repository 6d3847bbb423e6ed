// Random reads by blocks that ask for 28 KiB of shared memory that they do not use, so that a multiprocessor
// holds half of its threads. Mended: without it.
#include "examples/limits/pair.h"

constexpr int threads = 128, steps = 32;
constexpr std::size_t unused_bytes = 28 << 10;

__device__ void add_up(const unsigned* in, unsigned* out, int n) {
  extern __shared__ unsigned unused[];
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  if (n < 0) unused[threadIdx.x] = i;  // never
  unsigned state = i, sum = 0;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    state = state * 1664525u + 1013904223u;
    sum = sum * 3 + in[(state >> 4) % static_cast<unsigned>(n)];  // fault
  }
  out[i] = sum;
}

__global__ void slow(const unsigned* in, unsigned* out, int n) { add_up(in, out, n); }
__global__ void mended(const unsigned* in, unsigned* out, int n) { add_up(in, out, n); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 32 * pair::multiprocessors);  // blocks
  const int blocks = command.size(), n = std::min(blocks * 4096, 1 << 24);
  const auto results = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(n, 1000, 87)), out(results);
  return command.run(
      "half_occupancy", out, [&] { slow<<<blocks, threads, unused_bytes>>>(in.get(), out.get(), n); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get(), n); });
}
