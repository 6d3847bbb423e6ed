// A block's sums of four kinds of values by atomic operations of all lanes on four words of shared memory.
// Mended: each thread adds up its values first, then the lanes of a warp theirs.
#include "examples/limits/pair.h"

constexpr int threads = 256, values_per_thread = 16, kinds = 4;

template <bool is_aggregated>
__device__ void sum_up(const unsigned* in, unsigned* sums) {
  __shared__ unsigned of_block[kinds];
  if (threadIdx.x < kinds) of_block[threadIdx.x] = 0;
  __syncthreads();
  unsigned of_thread[kinds] = {};
  for (int k = 0; k < values_per_thread; ++k) {
    const unsigned value = in[(blockIdx.x * values_per_thread + k) * threads + threadIdx.x];
    if (is_aggregated) {
#pragma unroll
      for (unsigned kind = 0; kind < kinds; ++kind) of_thread[kind] += value % kinds == kind ? value : 0;
    } else {
      atomicAdd(&of_block[value % kinds], value);  // fault
    }
  }
  if (is_aggregated) {
#pragma unroll
    for (unsigned kind = 0; kind < kinds; ++kind) {
      const unsigned of_warp = __reduce_add_sync(~0u, of_thread[kind]);
      if (threadIdx.x % 32 == kind) atomicAdd(&of_block[kind], of_warp);
    }
  }
  __syncthreads();
  if (threadIdx.x < kinds) sums[blockIdx.x * kinds + threadIdx.x] = of_block[threadIdx.x];
}

__global__ void slow(const unsigned* in, unsigned* sums) { sum_up<false>(in, sums); }
__global__ void mended(const unsigned* in, unsigned* sums) { sum_up<true>(in, sums); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 12);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * values_per_thread * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1000, 37)), sums(kinds * blocks);
  return command.run(
      "shared_sum", sums, [&] { slow<<<blocks, threads>>>(in.get(), sums.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), sums.get()); });
}
