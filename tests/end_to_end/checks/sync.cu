// Barriers and groups of lanes that do not converge. Functions are named after the cases.
#include <csignal>
#include <cstdio>

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

/// Each half of the block waits for the whole block, at a barrier of its own.
__global__ void different_barriers(int* result) {
  if (threadIdx.x < 32) {
    asm volatile("barrier.sync 1, 64;");  // different_barriers: endless barrier
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

__global__ void correct_exit_of_a_warp(int* result, int count) {
  if (threadIdx.x >= count) return;
  result[threadIdx.x] = 1;
  __syncthreads();
  result[threadIdx.x] = 2;
}

__global__ void skipped_by_a_warp(int* result) {
  const int value = threadIdx.x;
  if (threadIdx.x < 32) __syncthreads();  // skipped_by_a_warp: skipped barrier
  result[threadIdx.x] = value;
}

__global__ void correct_reached_by_all(int* result) {
  const int value = threadIdx.x;
  __syncthreads();
  result[threadIdx.x] = value;
}

/// The first warp reaches the barrier one time fewer.
__global__ void skipped_in_a_loop(int* result, int rounds) {
  for (int i = threadIdx.x / 32; i < rounds; ++i) {
    __syncthreads();  // skipped_in_a_loop: skipped barrier
    result[threadIdx.x] += i;
  }
  result[threadIdx.x] += rounds;
}

__device__ void arrive() { asm volatile("barrier.cta.arrive 1, 64;" ::: "memory"); }
__device__ void arrive_and_wait() {
  asm volatile("barrier.cta.sync 1, 64;" ::: "memory");  // arrives_twice: endless barrier
}

/// The computing warp hands over two tiles; if it only arrives, it hands over both at once.
__global__ void hand_over(volatile int* done, int* result, bool waits) {
  if (threadIdx.x < 32) {
    for (int tile = 0; tile < 2; ++tile) waits ? arrive_and_wait() : arrive();
    __syncwarp();
    if (threadIdx.x == 0) *done = 1;
  } else {
    while (!waits && *done == 0) {}
    for (int tile = 0; tile < 2; ++tile) arrive_and_wait();
    result[threadIdx.x] = 1;
  }
}

#define TRY_WAIT "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"

/// All threads except those of the last warp arrive at an object that expects `threads` arrivals.
__global__ void wait_at_object(int* result, int threads) {
  __shared__ unsigned long long object;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&object));
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(threads) : "memory");
  __syncthreads();
  if (threadIdx.x < 32)
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(address) : "memory");
  unsigned is_over = 0;
  while (is_over == 0) {
    asm volatile(TRY_WAIT : "=r"(is_over) : "r"(address) : "memory");  // endless_object: endless barrier
  }
  result[threadIdx.x] = 1;
}

__global__ void interrupted(int* result, volatile int* has_begun) {
  result[threadIdx.x + 64] = 1;  // interrupted, terminated: out of bounds
  *has_begun = 1;
  while (*has_begun != 0) {}
}

void interrupt(int* result, int signal) {
  int* has_begun = nullptr;
  cudaMallocManaged(&has_begun, sizeof *has_begun);
  *has_begun = 0;
  interrupted<<<1, 1>>>(result, has_begun);
  while (*const_cast<volatile int*>(has_begun) == 0) {}
  std::raise(signal);
  cudaDeviceSynchronize();
  std::puts("the program continued with the results of an abandoned kernel");
  std::fflush(stdout);
}

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const result = zeroed(64);
  if (cases.has("half_a_warp")) half_a_warp<<<1, 32>>>(result);
  if (cases.has("not_a_member")) not_a_member<<<1, 32>>>(result);
  if (cases.has("different_barriers")) different_barriers<<<1, 64>>>(result);
  if (cases.has("correct_early_exit")) correct_early_exit<<<1, 64>>>(result, 40);
  if (cases.has("correct_exit_of_a_warp")) correct_exit_of_a_warp<<<1, 64>>>(result, 32);
  if (cases.has("skipped_by_a_warp")) skipped_by_a_warp<<<1, 64>>>(result);
  if (cases.has("correct_reached_by_all")) correct_reached_by_all<<<1, 64>>>(result);
  if (cases.has("skipped_in_a_loop")) skipped_in_a_loop<<<1, 64>>>(result, 4);
  if (cases.has("arrives_twice")) hand_over<<<1, 64>>>(zeroed(1), result, false);
  if (cases.has("correct_hand_over")) hand_over<<<1, 64>>>(zeroed(1), result, true);
  if (cases.has("endless_object")) wait_at_object<<<1, 64>>>(result, 64);
  if (cases.has("correct_object")) wait_at_object<<<1, 64>>>(result, 32);
  if (cases.has("interrupted")) interrupt(result, SIGINT);
  if (cases.has("terminated")) interrupt(result, SIGTERM);
  if (cases.has("correct_branch_of_block")) correct_branch_of_block<<<2, 64>>>(result, 1);
  return cases.finish();
}
