// histogram: atomics on shared memory (one table per block) and on global memory, with and without using
// their results.
#include <algorithm>

#include "example.h"

constexpr int bins = 64;

__global__ void histogram_shared(const unsigned char* values, int n, unsigned* counts) {
  __shared__ unsigned local_counts[bins];
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) local_counts[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local_counts[values[i] % bins], 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    if (local_counts[bin] != 0) atomicAdd(&counts[bin], local_counts[bin]);
  }
}

// Every thread updates global memory directly, including the running maximum and the set of seen bins.
__global__ void histogram_global(const unsigned char* values, int n, unsigned* counts, unsigned* largest,
                                 unsigned long long* seen) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned bin = values[i] % bins;
  atomicAdd(&counts[bin], 1u);
  atomicMax(largest, static_cast<unsigned>(values[i]));
  atomicOr(seen, 1ull << bin);
}

// Collects the positions of the elements with value 7: the order depends on the device, the set does
// not.
__global__ void collect_sevens(const unsigned char* values, int n, int* places, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && values[i] == 7) places[atomicAdd(count, 1)] = i;
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 20011, 1 << 28);
  example::Random random(4);
  std::vector<unsigned char> values(n);
  std::vector<unsigned> expected(bins, 0);
  std::vector<int> expected_places;
  unsigned expected_largest = 0;
  unsigned long long expected_seen = 0;
  for (int i = 0; i < n; ++i) {
    // A skewed distribution: some bins are contended.
    values[i] = static_cast<unsigned char>(random.below(16) * random.below(16));
    expected[values[i] % bins]++;
    expected_largest = std::max<unsigned>(expected_largest, values[i]);
    expected_seen |= 1ull << (values[i] % bins);
    if (values[i] == 7) expected_places.push_back(i);
  }

  const example::DeviceArray<unsigned char> device_values(values);
  example::DeviceArray<unsigned> shared_counts(bins), global_counts(bins), largest(1);
  example::DeviceArray<unsigned long long> seen(1);
  example::DeviceArray<int> places(n), place_count(1);
  shared_counts.clear();
  global_counts.clear();
  largest.clear();
  seen.clear();
  place_count.clear();

  const int block = 96;
  const int grid = example::ceil_div(n, block);
  const int shared_grid = std::min(grid, 1056);
  histogram_shared<<<shared_grid, 250>>>(device_values.get(), n, shared_counts.get());
  histogram_global<<<grid, block>>>(device_values.get(), n, global_counts.get(), largest.get(), seen.get());
  collect_sevens<<<grid, block>>>(device_values.get(), n, places.get(), place_count.get());
  CUDA_CHECK(cudaGetLastError());

  const std::vector<unsigned> result = shared_counts.download();
  bool right = example::same("shared", result, expected);
  right = example::same("global", global_counts.download(), expected) && right;
  right = example::same("largest", largest.download(), {expected_largest}) && right;
  right = example::same("seen", seen.download(), {expected_seen}) && right;
  right = example::same("count of 7s", place_count.download(), {static_cast<int>(expected_places.size())}) &&
          right;
  std::vector<int> found = places.download();
  found.resize(expected_places.size());
  std::sort(found.begin(), found.end());
  right = example::same("positions", found, expected_places) && right;
  std::printf("histogram: %d values, largest %u, %zu sevens\n", n, expected_largest, found.size());

  example::measure("histogram_shared", [&] {
    histogram_shared<<<shared_grid, 250>>>(device_values.get(), n, shared_counts.get());
  });
  example::measure("histogram_global", [&] {
    histogram_global<<<grid, block>>>(device_values.get(), n, global_counts.get(), largest.get(), seen.get());
  });
  return example::finish("histogram", right, example::fnv1a(found, example::fnv1a(result)));
}
