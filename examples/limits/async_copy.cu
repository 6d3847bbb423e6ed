// Tiles that cp.async copies to shared memory, with a wait directly after each copy. Mended: the next tile
// is copied while the threads process this one.
#include <cuda_pipeline.h>

#include "examples/limits/pair.h"

constexpr int threads = 256, tiles = 64, rounds = 64;

__device__ void copy_tile(uint4* tile, const uint4* from) {
  __pipeline_memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], sizeof(uint4));
  __pipeline_commit();
}

__device__ unsigned process(const uint4* tile, unsigned sum) {
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
    const uint4 value = tile[(threadIdx.x + round) % threads];
    sum = (sum ^ value.x ^ value.z) * 69069u + (value.y ^ value.w);
  }
  return sum;
}

__global__ void slow(const uint4* in, unsigned* out) {
  __shared__ uint4 tile[threads];
  unsigned sum = 0;
  for (int k = 0; k < tiles; ++k) {
    copy_tile(tile, in + (blockIdx.x * tiles + k) * threads);
    __pipeline_wait_prior(0);  // fault
    __syncthreads();
    sum = process(tile, sum);
    __syncthreads();
  }
  out[blockIdx.x * threads + threadIdx.x] = sum;
}

__global__ void mended(const uint4* in, unsigned* out) {
  __shared__ uint4 buffers[2][threads];
  unsigned sum = 0;
  copy_tile(buffers[0], in + blockIdx.x * tiles * threads);
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) copy_tile(buffers[(k + 1) % 2], in + (blockIdx.x * tiles + k + 1) * threads);
    __pipeline_wait_prior(k + 1 < tiles ? 1 : 0);
    __syncthreads();
    sum = process(buffers[k % 2], sum);
    __syncthreads();
  }
  out[blockIdx.x * threads + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto vectors = static_cast<std::size_t>(blocks) * tiles * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(4 * vectors, 1 << 30, 61));
  const example::DeviceArray<unsigned> out(static_cast<std::size_t>(blocks) * threads);
  const auto* const from = reinterpret_cast<const uint4*>(in.get());
  return command.run(
      "async_copy", out, [&] { slow<<<blocks, threads>>>(from, out.get()); },
      [&] { mended<<<blocks, threads>>>(from, out.get()); });
}
