// Sums of elements gathered in random order. Mended: the indices are sorted.
#include "examples/limits/pair.h"

constexpr int threads = 256;

__device__ void add_to(unsigned* sums, unsigned value) {
  const unsigned sum = __reduce_add_sync(~0u, value);
  if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.x % 1024], sum);
}

__global__ void slow(const unsigned* in, const int* indices, unsigned* sums) {
  const int i = indices[blockIdx.x * threads + threadIdx.x];
  add_to(sums, in[i]);  // fault
}

__global__ void mended(const unsigned* in, const int* indices, unsigned* sums) {
  const int i = indices[blockIdx.x * threads + threadIdx.x];
  add_to(sums, in[i]);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 23);  // gathered elements
  const int n = command.size(threads);
  const auto values = pair::integers<unsigned>(2 * static_cast<std::size_t>(n), 1000, 13);
  auto indices = pair::integers<int>(n, 2 * n, 14);
  const example::DeviceArray<unsigned> in(values), sums(1024);
  const example::DeviceArray<int> at_random(indices);
  std::sort(indices.begin(), indices.end());
  const example::DeviceArray<int> sorted(indices);
  const auto total = [&] {  // which block adds an element depends on the order of the indices
    std::vector<unsigned> one(1);
    for (const unsigned sum : sums.download()) one[0] += sum;
    return one;
  };
  return command.run_reading(
      "gather", sums, [&] { slow<<<n / threads, threads>>>(in.get(), at_random.get(), sums.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), sorted.get(), sums.get()); }, total);
}
