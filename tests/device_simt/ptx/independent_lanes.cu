// Source of independent_lanes.ptx: nvcc -arch=sm_90 -ptx independent_lanes.cu -o independent_lanes.ptx
// Lanes that meet at `.sync` operations from different program points, and 128-bit integers.
//
// On a GPU, nvcc -arch=native -DWITH_MAIN independent_lanes.cu && ./a.out reports differences.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "independent_lanes.h"

namespace cg = cooperative_groups;

#define KERNEL extern "C" __global__ void

constexpr unsigned full = 0xffffffffu;

KERNEL shuffle_on_both_sides(unsigned* out, const unsigned* side) {
  const unsigned lane = threadIdx.x;
  unsigned result;
  if (side[lane] & 1) {
    result = __shfl_sync(full, lane * 3 + 1, lane + 1) + 1000;
  } else {
    result = __shfl_sync(full, lane * 7, lane + 1) + 2000;
  }
  out[lane] = result;
}

KERNEL votes_on_both_sides(unsigned* out, const unsigned* side) {
  const unsigned lane = threadIdx.x;
  unsigned result;
  if (side[lane] & 1) {
    result = __ballot_sync(full, lane & 2);
    result = result * 3 + __any_sync(full, lane == 30);
    result = result * 3 + __all_sync(full, lane < 31);
    result = result * 3 + __match_any_sync(full, lane % 3);
    result = result * 3 + __reduce_add_sync(full, lane);
  } else {
    result = __ballot_sync(full, lane & 1);
    if (side[lane] & 2) {
      result = result * 5 + __any_sync(full, lane == 31);
    } else {
      result = result * 7 + __any_sync(full, lane == 4);
    }
    result = result * 3 + __all_sync(full, lane != 5);
    result = result * 3 + __match_any_sync(full, lane % 5);
    result = result * 3 + __reduce_add_sync(full, lane * 9);
  }
  out[lane] = result;
}

KERNEL memory_through_syncwarp(unsigned* out, const unsigned* side) {
  __shared__ unsigned values[32];
  const unsigned lane = threadIdx.x;
  if (side[lane] & 1) {
    values[lane] = lane * 3 + 1;
    __syncwarp();
    out[lane] = values[31 - lane];
  } else {
    values[lane] = lane * 7;
    __syncwarp();
    out[lane] = values[31 - lane] + 5;
  }
}

// One side loops, the other executes the same steps unrolled.
KERNEL loop_beside_steps(unsigned* out, const unsigned* side) {
  const unsigned lane = threadIdx.x;
  unsigned value = lane + 1;
  if (side[lane] & 1) {
#pragma unroll 1
    for (int i = 0; i < 3; ++i) value = value * 5 + __shfl_xor_sync(full, value, 1 << i);
  } else {
    value = value * 7 + __shfl_xor_sync(full, value, 1);
    value = value * 7 + __shfl_xor_sync(full, value, 2);
    if (side[lane] & 2) value += 1;
    value = value * 7 + __shfl_xor_sync(full, value, 4);
  }
  out[lane] = value;
}

__device__ __noinline__ unsigned exchange_a(unsigned value) {
  if (value == 77777) return 0;
  return __shfl_xor_sync(full, value, 3) * 3;
}
__device__ __noinline__ unsigned exchange_b(unsigned value) {
  if (value == 77777) return 1;
  return __shfl_xor_sync(full, value + 100, 3) * 5;
}

KERNEL meet_inside_calls(unsigned* out, const unsigned* side) {
  const unsigned lane = threadIdx.x;
  unsigned result;
  if (side[lane] & 1) {
    result = exchange_a(lane);
  } else if (side[lane] & 2) {
    result = exchange_b(lane);
  } else {
    result = __shfl_xor_sync(full, lane, 3);
  }
  out[lane] = result;
}

__device__ unsigned (*const functions[2])(unsigned) = {exchange_a, exchange_b};

KERNEL meet_inside_indirect_calls(unsigned* out, const unsigned* side) {
  const unsigned lane = threadIdx.x;
  out[lane] = functions[side[lane] & 1](lane);
}

// Lanes that have exited are not waited for.
KERNEL after_exits(unsigned* out, const unsigned* side) {
  const unsigned lane = threadIdx.x;
  out[lane] = 0;
  if (side[lane] & 1) return;
  out[lane] = __ballot_sync(full, true);
}

KERNEL partitions(unsigned* out, const unsigned* side) {
  const unsigned lane = threadIdx.x;
  const unsigned odd = __ballot_sync(full, side[lane] & 1);
  const unsigned mine = side[lane] & 1 ? odd : ~odd;
  unsigned result = __ballot_sync(mine, lane & 4);
  result = result * 3 + __any_sync(mine, lane == 9);
  result = result * 3 + __all_sync(mine, lane != 9);
  result = result * 3 + __reduce_max_sync(mine, lane);
  result = result * 3 + __shfl_sync(mine, lane, __ffs(mine) - 1);
  out[lane] = result;
}

KERNEL cooperative(unsigned* out, const unsigned* side) {
  const unsigned lane = threadIdx.x;
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  unsigned result = tile.ballot(side[lane] & 1) * 3 + tile.shfl(lane, 2) + tile.any(lane == 17);
  if (side[lane] & 1) {
    const auto together = cg::coalesced_threads();
    result = result * 5 + together.size() + together.thread_rank() * 100 + together.ballot(lane & 2);
    result = result * 3 + cg::reduce(together, lane, cg::plus<unsigned>());
    together.sync();
  } else {
    const auto label = cg::labeled_partition(cg::coalesced_threads(), side[lane] & 2);
    result = result * 7 + label.size() + label.thread_rank() * 100;
    result = result * 3 + cg::reduce(label, lane, cg::plus<unsigned>());
  }
  tile.sync();
  out[lane] = result;
}

KERNEL wide_integers(Wide* out, const Wide* a, const Wide* b, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  wide_results(a[i], b[i], out + i * wide_operations);
}

#ifdef WITH_MAIN
#include <cstdio>

template <typename T>
T* on_device(const std::vector<T>& values) {
  T* memory = nullptr;
  cudaMalloc(&memory, values.size() * sizeof(T));
  cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return memory;
}

template <typename T>
int wrong_values(const char* name, unsigned pattern, const T* device, const std::vector<T>& expected) {
  std::vector<T> found(expected.size());
  const cudaError_t copied =
      cudaMemcpy(found.data(), device, found.size() * sizeof(T), cudaMemcpyDeviceToHost);
  int wrong = copied == cudaSuccess ? 0 : 1;
  for (std::size_t i = 0; i < found.size(); ++i) wrong += found[i] != expected[i];
  std::printf("%s %u: %d wrong (%s)\n", name, pattern, wrong, cudaGetErrorString(copied));
  return wrong;
}

int main() {
  using Kernel = void (*)(unsigned*, const unsigned*);
  const Kernel kernels[] = {shuffle_on_both_sides, votes_on_both_sides, memory_through_syncwarp,
                            loop_beside_steps,     meet_inside_calls,   meet_inside_indirect_calls,
                            after_exits,           partitions,          cooperative};
  int wrong = 0;
  for (std::size_t k = 0; k < std::size(kernels); ++k) {
    const std::string& name = independent_lanes::kernels()[k];
    for (unsigned pattern = 0; pattern < 16; ++pattern) {
      const std::vector<unsigned> side = independent_lanes::sides(pattern);
      unsigned* const out = on_device(std::vector<unsigned>(32, 0xeeeeeeee));
      kernels[k]<<<1, 32>>>(out, on_device(side));
      wrong += wrong_values(name.c_str(), pattern, out, independent_lanes::expected(name, side));
    }
  }
  std::vector<Wide> a, b;
  independent_lanes::wide_operands(a, b);
  std::vector<Wide> results(a.size() * wide_operations);
  for (std::size_t i = 0; i < a.size(); ++i) wide_results(a[i], b[i], &results[i * wide_operations]);
  Wide* const out = on_device(std::vector<Wide>(results.size()));
  const int count = static_cast<int>(a.size());
  wide_integers<<<(count + 63) / 64, 64>>>(out, on_device(a), on_device(b), count);
  wrong += wrong_values("wide_integers", 0, out, results);
  std::puts(wrong == 0 ? "ok" : "WRONG");
  return wrong != 0;
}
#endif
