// Each thread fills 16 consecutive words. Mended: the threads of a block fill consecutive words together.
#include "examples/limits/pair.h"

constexpr int threads = 256, words = 16;

__device__ unsigned value_of(unsigned seed, int index) { return (seed + index) * 2654435761u; }

__global__ void slow(unsigned seed, unsigned* out) {
  const int first = (blockIdx.x * threads + threadIdx.x) * words;
#pragma unroll 1
  for (int k = 0; k < words; ++k) {
    out[first + k] = value_of(seed, first + k);  // fault
  }
}

__global__ void mended(unsigned seed, unsigned* out) {
  const int first = blockIdx.x * threads * words + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < words; ++k) out[first + k * threads] = value_of(seed, first + k * threads);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 12);  // blocks
  const int blocks = command.size();
  const example::DeviceArray<unsigned> out(static_cast<std::size_t>(blocks) * threads * words);
  return command.run(
      "strided_stores", out, [&] { slow<<<blocks, threads>>>(15, out.get()); },
      [&] { mended<<<blocks, threads>>>(15, out.get()); });
}
