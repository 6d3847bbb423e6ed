// A histogram by atomic operations on global memory; half of the values are in one bin. Mended: a histogram
// of each block in shared memory, added to that in global memory once.
#include "examples/limits/pair.h"

constexpr int threads = 256, bins = 256, values_per_thread = 8;

__global__ void slow(const unsigned char* in, unsigned* histogram) {
  for (int k = 0; k < values_per_thread; ++k) {
    const int value = in[(blockIdx.x * values_per_thread + k) * threads + threadIdx.x];
    atomicAdd(&histogram[value], value + 1);  // fault
  }
}

__global__ void mended(const unsigned char* in, unsigned* histogram) {
  __shared__ unsigned of_block[bins];
  of_block[threadIdx.x] = 0;
  __syncthreads();
  for (int k = 0; k < values_per_thread; ++k) {
    const int value = in[(blockIdx.x * values_per_thread + k) * threads + threadIdx.x];
    atomicAdd(&of_block[value], value + 1);
  }
  __syncthreads();
  if (of_block[threadIdx.x] != 0) atomicAdd(&histogram[threadIdx.x], of_block[threadIdx.x]);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 18);  // values
  const int n = command.size(threads * values_per_thread);
  auto values = pair::integers<unsigned char>(n, bins, 36);
  for (int i = 0; i < n; i += 2) values[i] = 7;
  const example::DeviceArray<unsigned char> in(values);
  const example::DeviceArray<unsigned> histogram(bins);
  const int blocks = n / threads / values_per_thread;
  return command.run(
      "skewed_histogram", histogram, [&] { slow<<<blocks, threads>>>(in.get(), histogram.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), histogram.get()); });
}
