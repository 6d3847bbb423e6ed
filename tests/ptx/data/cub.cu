#include <cub/cub.cuh>

// Instantiates library kernels: large ones with many labels, scopes and inline assembly.
void use(int* keys, int* sorted, float* values, float* sum, int count) {
  size_t bytes = 0;
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, keys, sorted, count);
  cub::DeviceReduce::Sum(nullptr, bytes, values, sum, count);
}
