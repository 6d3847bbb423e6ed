// bitonic: a bitonic sort of one block's keys in shared memory (64-bit keys: wide accesses), and steps over
// all keys in global memory.
#include "example.h"

#include <algorithm>

using Key = unsigned long long;

__device__ void order(Key& a, Key& b, bool ascending) {
  if ((a > b) != ascending) return;
  const Key swap = a;
  a = b;
  b = swap;
}

__global__ void sort_blocks(Key* keys) {
  extern __shared__ Key values[];  // 2 × blockDim.x
  const unsigned half = blockDim.x, first = blockIdx.x * 2 * half;
  values[threadIdx.x] = keys[first + threadIdx.x];
  values[threadIdx.x + half] = keys[first + threadIdx.x + half];
  for (unsigned length = 2; length <= 2 * half; length *= 2) {
    for (unsigned distance = length / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const unsigned at = 2 * threadIdx.x - (threadIdx.x & (distance - 1));
      order(values[at], values[at + distance], ((first + at) & length) == 0);
    }
  }
  __syncthreads();
  keys[first + threadIdx.x] = values[threadIdx.x];
  keys[first + threadIdx.x + half] = values[threadIdx.x + half];
}

__global__ void merge_step(Key* keys, unsigned length, unsigned distance) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned at = 2 * thread - (thread & (distance - 1));
  order(keys[at], keys[at + distance], (at & length) == 0);
}

int main(int argc, char** argv) {
  constexpr unsigned block = 128;
  const int wanted = example::size_argument(argc, argv, 1024, 1 << 24);
  unsigned n = 2 * block;
  while (n < static_cast<unsigned>(wanted)) n *= 2;
  example::Random random(12);
  std::vector<Key> keys(n);
  for (Key& key : keys) key = static_cast<Key>(random.next()) << 32 | random.next();
  std::vector<Key> sorted = keys;
  std::sort(sorted.begin(), sorted.end());

  const example::DeviceArray<Key> device_keys(keys);
  const auto sort = [&] {
    sort_blocks<<<n / 2 / block, block, 2 * block * sizeof(Key)>>>(device_keys.get());
    for (unsigned length = 4 * block; length <= n; length *= 2) {
      for (unsigned distance = length / 2; distance > 0; distance /= 2) {
        merge_step<<<n / 2 / block, block>>>(device_keys.get(), length, distance);
      }
    }
  };
  sort();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<Key> result = device_keys.download();
  std::printf("bitonic: %u keys\n", n);
  const bool right = example::same("keys", result, sorted);
  example::measure("bitonic", sort);
  return example::finish("bitonic", right, example::fnv1a(result));
}
