// A barrier in each round, in which another warp has eight times the work of the others, although the warps
// exchange nothing. Mended: without it.
#include "examples/limits/pair.h"

constexpr int threads = 256, warps = threads / 32, rounds = 128;

template <bool has_barrier>
__device__ void iterate(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x, warp = threadIdx.x / 32;
  unsigned value = in[i];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const int steps = round % warps == warp ? 16 : 2;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) value = pair::mixed<8>(value);
    if (has_barrier) __syncthreads();  // fault
  }
  out[i] = value;
}

__global__ void slow(const unsigned* in, unsigned* out) { iterate<true>(in, out); }
__global__ void mended(const unsigned* in, unsigned* out) { iterate<false>(in, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 2 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1000, 40)), out(elements);
  return command.run(
      "unbalanced_barrier", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
