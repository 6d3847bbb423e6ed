// A hash of 1,024 words by one chain of dependent operations, with too few warps to hide their latency.
// Mended: four chains.
#include "examples/limits/pair.h"

constexpr int threads = 128, words = 1024, rounds = 32;
constexpr unsigned base = 31;

__global__ void slow(const unsigned* in, unsigned* out) {
  __shared__ unsigned values[words];
  for (int i = threadIdx.x; i < words; i += threads) values[i] = in[i];
  __syncthreads();
  unsigned hash = threadIdx.x;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll 16
    for (int k = 0; k < words; ++k) {
      hash = hash * base + values[k];  // fault
    }
  }
  out[blockIdx.x * threads + threadIdx.x] = hash;
}

__global__ void mended(const unsigned* in, unsigned* out) {
  __shared__ unsigned values[words];
  for (int i = threadIdx.x; i < words; i += threads) values[i] = in[i];
  __syncthreads();
  constexpr unsigned square = base * base, fourth = square * square;
  unsigned hash[4] = {0, 0, 0, threadIdx.x};  // of the words 4 k, 4 k + 1, …
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll 4
    for (int k = 0; k < words; k += 4) {
      for (int chain = 0; chain < 4; ++chain) hash[chain] = hash[chain] * fourth + values[k + chain];
    }
  }
  out[blockIdx.x * threads + threadIdx.x] =
      hash[0] * square * base + hash[1] * square + hash[2] * base + hash[3];
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(words, 1000, 55));
  const example::DeviceArray<unsigned> out(static_cast<std::size_t>(blocks) * threads);
  return command.run(
      "dependent_chain", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
