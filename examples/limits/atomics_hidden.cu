// One atomic operation per block on a single word, after much arithmetic. Mended: on one of 256 words, which
// gains nothing.
#include "examples/limits/pair.h"

constexpr int threads = 256, rounds = 256, words = 256;

__device__ unsigned sum_of_block(unsigned value) {
  __shared__ unsigned of_warps[threads / 32];
  const unsigned of_warp = __reduce_add_sync(~0u, value);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
  __syncthreads();
  unsigned sum = 0;
  for (const unsigned each : of_warps) sum += each;
  return sum;
}

__global__ void slow(const unsigned* in, unsigned* sums) {
  const unsigned sum = sum_of_block(pair::mixed<rounds>(in[blockIdx.x * threads + threadIdx.x]));
  if (threadIdx.x == 0) atomicAdd(&sums[0], sum);  // fault
}

__global__ void mended(const unsigned* in, unsigned* sums) {
  const unsigned sum = sum_of_block(pair::mixed<rounds>(in[blockIdx.x * threads + threadIdx.x]));
  if (threadIdx.x == 0) atomicAdd(&sums[blockIdx.x % words], sum);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 22);  // elements
  const int n = command.size(threads);
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(n, 1u << 31, 38)), sums(words);
  const auto total = [&] {
    std::vector<unsigned> one(1);
    for (const unsigned sum : sums.download()) one[0] += sum;
    return one;
  };
  return command.run_reading(
      "atomics_hidden", sums, [&] { slow<<<n / threads, threads>>>(in.get(), sums.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), sums.get()); }, total);
}
