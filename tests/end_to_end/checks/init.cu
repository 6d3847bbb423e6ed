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

/// The last thread reads past what has been written, as merges of sorted tiles do that load the next element
/// before they compare its index. It ignores the value unless `uses` is set.
__global__ void reads_past_tile(int* result, int written, bool uses) {
  __shared__ int tile[64];
  if (static_cast<int>(threadIdx.x) < written) tile[threadIdx.x] = 3 * threadIdx.x;
  __syncthreads();
  const int at = threadIdx.x + 1;
  const int next = *static_cast<volatile int*>(&tile[at]);  // uses_past_tile: uninitialized read
  const bool is_inside = uses || at < written;
  result[threadIdx.x] = is_inside && next > 90 ? 1 : 0;
}

/// The value decides only how often a loop runs, or which text is printed.
__global__ void decides_a_loop(int* result) {
  __shared__ int tile[32];
  int steps = 0;
  const int begin = *static_cast<volatile int*>(tile) & 7;  // decides_a_loop: uninitialized read
  for (int i = begin; i < 8; ++i) ++steps;
  result[threadIdx.x] = steps;
}

__global__ void is_printed() {
  __shared__ int tile[32];
  printf("%d\n", *static_cast<volatile int*>(tile) > 0 ? 1 : 0);  // is_printed: uninitialized read
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
  if (cases.has("uses_past_tile")) reads_past_tile<<<2, 32>>>(result, 32, true);
  if (cases.has("correct_past_tile")) reads_past_tile<<<2, 32>>>(result, 32, false);
  if (cases.has("decides_a_loop")) decides_a_loop<<<1, 32>>>(result);
  if (cases.has("is_printed")) is_printed<<<1, 1>>>();
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
