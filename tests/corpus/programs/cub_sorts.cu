// CUB: radix, merge and segmented sorts.
#include <cub/cub.cuh>

struct Descending {
  __host__ __device__ bool operator()(double a, double b) const { return b < a; }
};

void sorts(void* work, std::size_t& bytes, const unsigned* keys, unsigned* sorted, const float* values,
           float* ordered, double* mergeable, const int* offsets, int count) {
  cub::DeviceRadixSort::SortPairs(work, bytes, keys, sorted, values, ordered, count);
  cub::DeviceMergeSort::SortKeys(work, bytes, mergeable, count, Descending());
  cub::DeviceSegmentedSort::SortKeys(work, bytes, keys, sorted, count, 10, offsets, offsets + 1);
}
