// Shuffles whose source lane does not execute them. Functions are named after the cases.
#include <cooperative_groups.h>

#include "tests/end_to_end/checks/cases.h"

namespace cg = cooperative_groups;

/// As in llm.c's matmul_backward_bias: threads past the last column return before their warp adds up.
__global__ void sum_after_return(const int* values, int* result, int count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int sum = values[i] + 1;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, offset);  // sum_after_return: inactive source lane
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

__global__ void sum_after_return_right(const int* values, int* result, int count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = i < count ? values[i] + 1 : 0;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

/// Likewise with a group, whose mask consists of the lanes that the block has.
__global__ void group_after_return(int* result, int count) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  if (threadIdx.x >= count) return;
  int sum = threadIdx.x + 1;
  for (int offset = 16; offset > 0; offset /= 2)
    sum += warp.shfl_down(sum, offset);  // group_after_return: inactive source lane
  if (warp.thread_rank() == 0) result[threadIdx.x / 32] = sum;
}

__global__ void group_after_return_right(int* result, int count) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int sum = threadIdx.x < count ? threadIdx.x + 1 : 0;
  for (int offset = 16; offset > 0; offset /= 2) sum += warp.shfl_down(sum, offset);
  if (warp.thread_rank() == 0) result[threadIdx.x / 32] = sum;
}

/// The last warp of a block of 40 threads has 8 lanes.
__global__ void exchange_halves(int* result) {
  int value = threadIdx.x + 1;
  value += __shfl_xor_sync(0xffffffffu, value, 16);  // short_block: inactive source lane
  result[threadIdx.x] = value;
}

/// Broadcasts from a lane that has returned.
__global__ void broadcast(int* result, int leaving) {
  if (threadIdx.x == leaving) return;
  result[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x + 5, 0);  // leader_returns: inactive source lane
}

/// Lanes 8 to 15 read lanes 16 to 23, which are not members; only lane 0 has a defined sum.
__global__ void sum_of_16(int* result, bool keeps_all) {
  if (threadIdx.x >= 16) return;
  int sum = threadIdx.x;
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2)
    sum += __shfl_down_sync(0xffffu, sum, offset);  // keeps_all_sums: inactive source lane
  if (keeps_all || threadIdx.x == 0) result[threadIdx.x] = sum;
}

/// Only the second shuffle's value is used.
__global__ void one_is_used(int* result) {
  if (threadIdx.x >= 16) return;
  const int unused = __shfl_down_sync(0xffffu, threadIdx.x, 8);
  const int used = __shfl_down_sync(0xffffu, threadIdx.x, 9);  // one_is_used: inactive source lane
  result[threadIdx.x] = (threadIdx.x < 8 ? unused : 0) + used;
}

/// Sources out of range: a lane reads its own value.
__global__ void correct_out_of_range(int* result) {
  if (threadIdx.x >= 8) return;
  int sum = threadIdx.x;
  for (int offset = 1; offset < 8; offset *= 2) {
    const int below = __shfl_up_sync(0xffu, sum, offset, 8);
    if (threadIdx.x >= offset) sum += below;
  }
  result[threadIdx.x] = sum + __shfl_down_sync(0xffu, sum, 4, 8);
}

/// The time differs in each run, but not because of the shuffle, whose value is not used.
__global__ void correct_with_time(long long* result) {
  if (threadIdx.x >= 16) return;
  const int value = __shfl_down_sync(0xffffu, threadIdx.x, 8);
  if (threadIdx.x < 8) result[threadIdx.x] = clock64() + value;
}

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const values = zeroed(64);
  int* const result = zeroed(64);
  if (cases.has("sum_after_return")) sum_after_return<<<1, 64>>>(values, result, 40);
  if (cases.has("sum_after_return_right")) sum_after_return_right<<<1, 64>>>(values, result, 40);
  if (cases.has("sum_of_all")) sum_after_return<<<1, 64>>>(values, result, 64);
  if (cases.has("group_after_return")) group_after_return<<<1, 64>>>(result, 40);
  if (cases.has("group_after_return_right")) group_after_return_right<<<1, 64>>>(result, 40);
  if (cases.has("short_block")) exchange_halves<<<1, 40>>>(result);
  if (cases.has("full_block")) exchange_halves<<<1, 64>>>(result);
  if (cases.has("leader_returns")) broadcast<<<1, 32>>>(result, 0);
  if (cases.has("leader_stays")) broadcast<<<1, 32>>>(result, 1);
  if (cases.has("keeps_all_sums")) sum_of_16<<<1, 32>>>(result, true);
  if (cases.has("keeps_one_sum")) sum_of_16<<<1, 32>>>(result, false);
  if (cases.has("one_is_used")) one_is_used<<<1, 32>>>(result);
  if (cases.has("correct_out_of_range")) correct_out_of_range<<<1, 32>>>(result);
  if (cases.has("correct_with_time")) correct_with_time<<<1, 32>>>(reinterpret_cast<long long*>(result));
  return cases.finish();
}
