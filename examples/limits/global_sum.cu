// A sum by one atomic operation per thread, all on the same word. (Of 64 bits: the compiler adds up the
// values of a warp first if they have 32 bits.) Mended: one per block.
#include "examples/limits/pair.h"

constexpr int threads = 256;

using Sum = unsigned long long;

__global__ void slow(const unsigned* in, Sum* sum) {
  atomicAdd(sum, Sum{in[blockIdx.x * threads + threadIdx.x]});  // fault
}

__global__ void mended(const unsigned* in, Sum* sum) {
  __shared__ unsigned of_warps[threads / 32];
  const unsigned of_warp = __reduce_add_sync(~0u, in[blockIdx.x * threads + threadIdx.x]);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const unsigned of_block = __reduce_add_sync(~0u, threadIdx.x < threads / 32 ? of_warps[threadIdx.x] : 0);
  if (threadIdx.x == 0) atomicAdd(sum, Sum{of_block});
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 18);  // elements
  const int n = command.size(threads);
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(n, 1000, 35));
  const example::DeviceArray<Sum> sum(1);
  return command.run(
      "global_sum", sum, [&] { slow<<<n / threads, threads>>>(in.get(), sum.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), sum.get()); });
}
