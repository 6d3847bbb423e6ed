// Reads of memory that was never written. Functions are named after the cases.
#include "tests/end_to_end/checks/cases.h"

__global__ void sum_pairs(const int* array, int* result) {
  const int value = array[threadIdx.x];  // never_written, half_written, half_copied: uninitialized read
  result[threadIdx.x] = value + 1;
}

__global__ void count_up(int* counter) {
  atomicAdd(counter, 1);  // counter_not_cleared: uninitialized read
}

__global__ void shared_not_written(int* result) {
  __shared__ int tile[64];
  if (threadIdx.x < 32) tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  result[threadIdx.x] = tile[threadIdx.x];  // shared_not_written: uninitialized read
}

/// Values that an earlier block has left in shared memory do not count.
__global__ void left_by_other_block(int* result) {
  __shared__ int tile[32];
  if (blockIdx.x == 0) tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  result[threadIdx.x] = tile[threadIdx.x];  // left_by_other_block: uninitialized read
}

__global__ void heap_not_written(int* result) {
  const int* const own = static_cast<const int*>(malloc(64));
  result[threadIdx.x] = *static_cast<const volatile int*>(own);  // heap_not_written: uninitialized read
}

__global__ void write_all(int* array) { array[threadIdx.x] = threadIdx.x; }

__device__ int variable[32];
__global__ void correct_variable(int* result) { result[threadIdx.x] = variable[threadIdx.x]; }

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const result = zeroed(64);
  int* array = nullptr;
  int* copied = nullptr;
  int host[64] = {};
  cudaMalloc(&array, sizeof host);
  cudaMalloc(&copied, sizeof host);
  if (cases.has("never_written")) sum_pairs<<<1, 64>>>(array, result);
  if (cases.has("half_written")) {
    cudaMemset(array, 0, sizeof host / 2);
    sum_pairs<<<1, 64>>>(array, result);
  }
  if (cases.has("half_copied")) {
    cudaMemcpy(array, host, sizeof host / 2, cudaMemcpyHostToDevice);
    cudaMemcpy(copied, array, sizeof host, cudaMemcpyDeviceToDevice);
    sum_pairs<<<1, 64>>>(copied, result);
  }
  if (cases.has("counter_not_cleared")) count_up<<<1, 32>>>(array);
  if (cases.has("shared_not_written")) shared_not_written<<<1, 64>>>(result);
  if (cases.has("left_by_other_block")) left_by_other_block<<<4, 32>>>(result);
  if (cases.has("heap_not_written")) heap_not_written<<<1, 1>>>(result);
  if (cases.has("correct_written_by_kernel")) {
    write_all<<<1, 64>>>(array);
    sum_pairs<<<1, 64>>>(array, result);
  }
  if (cases.has("correct_copied")) {
    cudaMemcpy(array, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpy(copied, array, sizeof host, cudaMemcpyDeviceToDevice);
    sum_pairs<<<1, 64>>>(copied, result);
  }
  if (cases.has("correct_managed")) {
    int* managed = nullptr;
    cudaMallocManaged(&managed, sizeof host);
    for (int i = 0; i < 64; ++i) managed[i] = i;
    sum_pairs<<<1, 64>>>(managed, result);
  }
  if (cases.has("correct_variable")) correct_variable<<<1, 32>>>(result);
  return cases.finish();
}
