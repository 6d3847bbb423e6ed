// A barrier in each iteration, although no thread reads what another one has written. Mended: without it.
#include "examples/limits/pair.h"

constexpr int threads = 256, rounds = 1024;

template <bool has_barrier>
__device__ void iterate(const unsigned* in, unsigned* out) {
  __shared__ unsigned values[threads];
  const int i = blockIdx.x * threads + threadIdx.x;
  volatile unsigned& own = values[threadIdx.x];
  own = in[i];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    own = own * 1664525u + round;
    if (has_barrier) __syncthreads();  // fault
  }
  out[i] = own;
}

__global__ void slow(const unsigned* in, unsigned* out) { iterate<true>(in, out); }
__global__ void mended(const unsigned* in, unsigned* out) { iterate<false>(in, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 16 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1000, 39)), out(elements);
  return command.run(
      "barrier_in_loop", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
