// Elements of eight kinds, each with another hash, in random order. Mended: sorted by kind.
#include <numeric>

#include "examples/limits/pair.h"

constexpr int threads = 256, kinds = 8, rounds = 64;

__device__ unsigned hash_of(int kind, unsigned value) {
  switch (kind) {  // fault
    case 0: return pair::mixed<rounds, 0x1234567>(value);
    case 1: return pair::mixed<rounds, 0x2345671>(value);
    case 2: return pair::mixed<rounds, 0x3456712>(value);
    case 3: return pair::mixed<rounds, 0x4567123>(value);
    case 4: return pair::mixed<rounds, 0x5671234>(value);
    case 5: return pair::mixed<rounds, 0x6712345>(value);
    case 6: return pair::mixed<rounds, 0x7123456>(value);
    default: return pair::mixed<rounds, 0x7654321>(value);
  }
}

__global__ void slow(const int* kind, const int* order, unsigned* out) {
  const int i = order[blockIdx.x * threads + threadIdx.x];
  out[i] = hash_of(kind[i], i);
}
__global__ void mended(const int* kind, const int* order, unsigned* out) {
  const int i = order[blockIdx.x * threads + threadIdx.x];
  out[i] = hash_of(kind[i], i);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 20);  // elements
  const int n = command.size(threads);
  const auto of_elements = pair::integers<int>(n, kinds, 78);
  std::vector<int> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  const example::DeviceArray<int> kind(of_elements), as_given(indices);
  std::stable_sort(indices.begin(), indices.end(),
                   [&](int a, int b) { return of_elements[a] < of_elements[b]; });
  const example::DeviceArray<int> sorted(indices);
  const example::DeviceArray<unsigned> out(n);
  return command.run(
      "mixed_kinds", out, [&] { slow<<<n / threads, threads>>>(kind.get(), as_given.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(kind.get(), sorted.get(), out.get()); });
}
