// Unordered accesses, and ordered ones. Functions are named after the cases. A comment after the second
// access of a race names the case.
#include "tests/end_to_end/checks/cases.h"

__global__ void missing_barrier(int* result) {
  __shared__ int tile[128];
  tile[threadIdx.x] = threadIdx.x;            // missing_barrier: race
  const int other = tile[127 - threadIdx.x];  // missing_barrier: race; missing_barrier: uninitialized read
  result[threadIdx.x] = other;
}

/// The second iteration writes elements that other threads still read.
__global__ void missing_second_barrier(int* result) {
  __shared__ int tile[128];
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    tile[threadIdx.x] = threadIdx.x + i + 1;  // missing_second_barrier: race
    __syncthreads();
    sum += tile[127 - threadIdx.x];  // missing_second_barrier: race
  }
  result[threadIdx.x] = sum;
}

__global__ void unrolled(int* result) {
  __shared__ int tile[512];
  for (int i = 0; i < 4; ++i) tile[threadIdx.x + 128 * i] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i) tile[threadIdx.x + 128 * i] = threadIdx.x + i;  // unrolled: race
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += tile[127 - threadIdx.x + 128 * i];  // unrolled: race
  result[threadIdx.x] = sum;
}

__global__ void both_write(int* result) {
  __shared__ int last;
  last = threadIdx.x / 32;  // both_write: race
  __syncthreads();
  result[threadIdx.x] = last;
}

__global__ void lanes_without_syncwarp(int* result) {
  __shared__ int tile[32];
  tile[threadIdx.x] = threadIdx.x;
  result[threadIdx.x] = tile[31 - threadIdx.x];  // lanes_without_syncwarp: race
}

__global__ void lanes_write_one_place(int* result) {
  result[0] = threadIdx.x;  // lanes_write_one_place: race
}

__global__ void between_blocks(int* result) {
  if (threadIdx.x == 0) result[blockIdx.x] = blockIdx.x;  // between_blocks: race
  __syncthreads();
  if (threadIdx.x == 0) result[8] += result[(blockIdx.x + 1) % 4];  // between_blocks: race
}

/// The flag proves nothing: no fence separates it from the value.
__global__ void flag_without_fence(int* value, volatile int* flag, int* result) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *value = 7;
    *flag = 1;
  } else {
    while (*flag == 0) {}
    __threadfence();
    *result = *value;  // flag_without_fence: race
  }
}

/// The fence has only block scope.
__global__ void fence_of_block(int* value, volatile int* flag, int* result) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *value = 7;
    __threadfence_block();
    *flag = 1;
  } else {
    while (*flag == 0) {}
    __threadfence();
    *result = *value;  // fence_of_block: race
  }
}

__global__ void atomic_of_block(int* counter) {
  atomicAdd_block(counter, 1);  // atomic_of_block: race
}

__global__ void atomic_and_plain(int* counter, int* result) {
  if (blockIdx.x == 0) atomicAdd(counter, 1);
  if (blockIdx.x != 0 && threadIdx.x == 0) *result = *counter;  // atomic_and_plain: race
}

// ---- nothing is wrong with these

__global__ void correct_barriers(int* result) {
  __shared__ int tile[128];
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    tile[threadIdx.x] = threadIdx.x + i;
    __syncthreads();
    sum += tile[127 - threadIdx.x];
    __syncthreads();
  }
  result[threadIdx.x] = sum;
}

__global__ void correct_syncwarp(int* result) {
  __shared__ int tile[32];
  tile[threadIdx.x] = threadIdx.x;
  __syncwarp();
  result[threadIdx.x] = tile[31 - threadIdx.x];
}

__global__ void correct_flag(int* value, volatile int* flag, int* result) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *value = 7;
    __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {}
    __threadfence();
    result[blockIdx.x] = *value;
  }
}

/// The last block sums up the results of all blocks.
__global__ void correct_last_block(int* partial, unsigned* tickets, int* result) {
  __shared__ bool is_last;
  partial[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(tickets, 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x * blockDim.x; ++i) sum += partial[i];
  *result = sum;
}

__global__ void correct_lock(int* lock, int* counter) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  *counter += 1;
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void correct_histogram(int* counts) {
  __shared__ int own[8];
  if (threadIdx.x < 8) own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[threadIdx.x % 8], 1);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

__global__ void correct_same_flag(int* flag) { *flag = 1; }

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const a = zeroed(1024);
  int* const b = zeroed(64);
  int* const c = zeroed(64);
  if (cases.has("missing_barrier")) missing_barrier<<<1, 128>>>(a);
  if (cases.has("missing_second_barrier")) missing_second_barrier<<<1, 128>>>(a);
  if (cases.has("unrolled")) unrolled<<<1, 128>>>(a);
  if (cases.has("both_write")) both_write<<<1, 128>>>(a);
  if (cases.has("lanes_without_syncwarp")) lanes_without_syncwarp<<<1, 32>>>(a);
  if (cases.has("lanes_write_one_place")) lanes_write_one_place<<<1, 32>>>(a);
  if (cases.has("between_blocks")) between_blocks<<<4, 64>>>(a);
  if (cases.has("flag_without_fence")) flag_without_fence<<<2, 32>>>(a, b, c);
  if (cases.has("fence_of_block")) fence_of_block<<<2, 32>>>(a, b, c);
  if (cases.has("atomic_of_block")) atomic_of_block<<<2, 32>>>(a);
  if (cases.has("atomic_and_plain")) atomic_and_plain<<<2, 32>>>(a, b);
  if (cases.has("correct_barriers")) correct_barriers<<<2, 128>>>(a);
  if (cases.has("correct_syncwarp")) correct_syncwarp<<<1, 32>>>(a);
  if (cases.has("correct_flag")) correct_flag<<<3, 32>>>(a, b, c);
  if (cases.has("correct_last_block")) correct_last_block<<<4, 64>>>(a, reinterpret_cast<unsigned*>(b), c);
  if (cases.has("correct_lock")) correct_lock<<<8, 32>>>(a, b);
  if (cases.has("correct_histogram")) correct_histogram<<<4, 128>>>(a);
  if (cases.has("correct_same_flag")) correct_same_flag<<<4, 128>>>(a);
  return cases.finish();
}
