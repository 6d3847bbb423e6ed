// A histogram of evenly distributed values in global memory. Mended: a histogram per block in shared memory.
#include "examples/limits/pair.h"

constexpr int threads = 256, bins = 256, values_per_thread = 16;

__global__ void slow(const unsigned char* in, unsigned* histogram) {
  for (int k = 0; k < values_per_thread; ++k) {
    const int value = in[(blockIdx.x * values_per_thread + k) * threads + threadIdx.x];
    atomicAdd(&histogram[value], 1u);  // fault
  }
}

__global__ void mended(const unsigned char* in, unsigned* histogram) {
  __shared__ unsigned of_block[bins];
  of_block[threadIdx.x] = 0;
  __syncthreads();
  for (int k = 0; k < values_per_thread; ++k) {
    const int value = in[(blockIdx.x * values_per_thread + k) * threads + threadIdx.x];
    atomicAdd(&of_block[value], 1u);
  }
  __syncthreads();
  atomicAdd(&histogram[threadIdx.x], of_block[threadIdx.x]);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 21);  // values
  const int n = command.size(threads * values_per_thread), blocks = n / threads / values_per_thread;
  const example::DeviceArray<unsigned char> in(pair::integers<unsigned char>(n, bins, 74));
  const example::DeviceArray<unsigned> histogram(bins);
  return command.run(
      "value_histogram", histogram, [&] { slow<<<blocks, threads>>>(in.get(), histogram.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), histogram.get()); });
}
