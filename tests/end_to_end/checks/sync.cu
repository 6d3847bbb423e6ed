// Barriers and groups of lanes that do not come together, by the name of the case.
#include "tests/end_to_end/checks/cases.h"

__global__ void half_a_warp(int* result) {
  if (threadIdx.x < 16) {
    __syncthreads();  // half_a_warp: divergent barrier
    result[threadIdx.x] = 1;
  } else {
    result[threadIdx.x] = 2;
    __syncthreads();  // half_a_warp: divergent barrier
  }
}

__global__ void not_a_member(int* result) {
  if (threadIdx.x < 16) __syncwarp(0xffff0000u);  // not_a_member: wrong members
  result[threadIdx.x] = 1;
}

/// Each half of the block waits at a barrier of its own for all of it.
__global__ void different_barriers(int* result) {
  if (threadIdx.x < 32) {
    asm volatile("barrier.sync 1, 64;");
  } else {
    asm volatile("barrier.sync 2, 64;");
  }
  result[threadIdx.x] = 1;
}

__global__ void correct_early_exit(int* result, int count) {
  if (threadIdx.x >= count) return;
  result[threadIdx.x] = 1;
  __syncthreads();
}

__global__ void correct_branch_of_block(int* result, int which) {
  if (which == 1) __syncthreads();
  result[threadIdx.x] = 1;
}

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const result = zeroed(64);
  if (cases.has("half_a_warp")) half_a_warp<<<1, 32>>>(result);
  if (cases.has("not_a_member")) not_a_member<<<1, 32>>>(result);
  if (cases.has("different_barriers")) different_barriers<<<1, 64>>>(result);
  if (cases.has("correct_early_exit")) correct_early_exit<<<1, 64>>>(result, 40);
  if (cases.has("correct_branch_of_block")) correct_branch_of_block<<<2, 64>>>(result, 1);
  return cases.finish();
}
