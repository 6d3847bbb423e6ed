// Threads with 64 live values, limited to 32 registers by __launch_bounds__: the compiler spills. Mended: a
// limit that has room for them.
#include "examples/limits/pair.h"

constexpr int threads = 256, values = 64, rounds = 16;

__device__ void mix(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x, n = gridDim.x * threads;
  unsigned state[values];
#pragma unroll
  for (int k = 0; k < values; ++k) state[k] = in[i] + k;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < values; ++k) state[k] = state[k] * 69069u + state[(k + 17) % values];  // fault
  }
  unsigned sum = 0;
#pragma unroll
  for (int k = 0; k < values; ++k) sum = sum * 31 + state[k];
  if (i < n) out[i] = sum;
}

__global__ void __launch_bounds__(threads, 8) slow(const unsigned* in, unsigned* out) { mix(in, out); }
__global__ void __launch_bounds__(threads, 2) mended(const unsigned* in, unsigned* out) { mix(in, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 8 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1 << 30, 57)), out(elements);
  return command.run(
      "spills", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
