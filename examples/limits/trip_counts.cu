// The length of Collatz sequences: a warp loops until its longest one ends. Mended: the starts are in the
// order of their lengths, so that the lanes of a warp end together.
#include <numeric>

#include "examples/limits/pair.h"

constexpr int threads = 256;

__host__ __device__ int collatz_steps(unsigned value) {
  int steps = 0;
  while (value != 1) {  // fault
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++steps;
  }
  return steps;
}

__global__ void slow(const unsigned* starts, const int* order, int* out) {
  const int i = order[blockIdx.x * threads + threadIdx.x];
  out[i] = collatz_steps(starts[i]);
}

__global__ void mended(const unsigned* starts, const int* order, int* out) {
  const int i = order[blockIdx.x * threads + threadIdx.x];
  out[i] = collatz_steps(starts[i]);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 20);  // starts
  const int n = command.size(threads);
  auto values = pair::integers<unsigned>(n, 100000, 43);
  for (unsigned& value : values) ++value;
  std::vector<int> lengths(n), indices(n);
  std::transform(values.begin(), values.end(), lengths.begin(), collatz_steps);
  std::iota(indices.begin(), indices.end(), 0);
  const example::DeviceArray<unsigned> starts(values);
  const example::DeviceArray<int> as_given(indices), out(n);
  std::stable_sort(indices.begin(), indices.end(), [&](int a, int b) { return lengths[a] > lengths[b]; });
  const example::DeviceArray<int> sorted(indices);
  return command.run(
      "trip_counts", out, [&] { slow<<<n / threads, threads>>>(starts.get(), as_given.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(starts.get(), sorted.get(), out.get()); });
}
