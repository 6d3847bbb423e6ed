// CUB: reductions, scans, histograms, selections.
#include <cub/cub.cuh>

struct Larger {
  template <typename T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return (x & 1) != 0; }
};

void reductions(void* work, std::size_t& bytes, const float* in, float* out, const int* offsets, int count) {
  cub::DeviceReduce::Sum(work, bytes, in, out, count);
  cub::DeviceReduce::Reduce(work, bytes, in, out, count, Larger(), 0.F);
  cub::DeviceSegmentedReduce::Min(work, bytes, in, out, 10, offsets, offsets + 1);
  cub::DeviceScan::InclusiveSum(work, bytes, in, out, count);
}

void selections(void* work, std::size_t& bytes, const int* in, int* out, int* chosen, int count) {
  cub::DeviceSelect::If(work, bytes, in, out, chosen, count, IsOdd());
  cub::DeviceSelect::Unique(work, bytes, in, out, chosen, count);
  cub::DeviceHistogram::HistogramEven(work, bytes, in, out, 65, 0, 64, count);
}
