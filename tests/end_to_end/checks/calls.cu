// Faults in device functions: findings have their callers.
#include "tests/end_to_end/checks/cases.h"

__device__ __noinline__ void store(int* array, int i) {
  array[i] = i;  // called_from_inlined: out of bounds
}

__device__ __forceinline__ void store_twice(int* array, int i) {
  store(array, i & 7);
  store(array, i);
}

__global__ void called_from_inlined(int* array, int offset) { store_twice(array, threadIdx.x + offset); }

__device__ __forceinline__ int load(const int* array, int i) {
  return array[i];  // inlined_twice: out of bounds
}

__device__ __forceinline__ int load_next(const int* array, int i) { return load(array, i + 1); }

__global__ void inlined_twice(const int* array, int* result, int offset) {
  result[threadIdx.x] = load_next(array, threadIdx.x + offset);
}

__device__ __noinline__ int descend(volatile int* array, int depth, int offset) {
  if (depth == 0) return array[offset];  // recursive: out of bounds
  const int value = descend(array, depth - 1, offset);
  array[depth & 7] = value;
  return value * 3 ^ depth;
}

__global__ void recursive(int* array, int depth, int offset) { descend(array, depth, offset); }

__device__ __noinline__ void wait(int* array) {
  __syncthreads();  // barrier_in_call: divergent barrier
  array[threadIdx.x] = 1;
}

__global__ void barrier_in_call(int* array, int count) {
  if (threadIdx.x < count) wait(array);
  array[threadIdx.x] += 1;
}

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  cudaDeviceSetLimit(cudaLimitStackSize, 65536);
  int* const array = zeroed(64);
  if (cases.has("called_from_inlined")) called_from_inlined<<<1, 32>>>(array, 33);
  if (cases.has("called_from_inlined_right")) called_from_inlined<<<1, 32>>>(array, 32);
  if (cases.has("inlined_twice")) inlined_twice<<<1, 32>>>(array, zeroed(64), 32);
  if (cases.has("inlined_twice_right")) inlined_twice<<<1, 32>>>(array, zeroed(64), 0);
  if (cases.has("recursive")) recursive<<<1, 1>>>(array, 40, 64);
  if (cases.has("recursive_right")) recursive<<<1, 1>>>(array, 40, 63);
  if (cases.has("barrier_in_call")) barrier_in_call<<<1, 32>>>(array, 16);
  if (cases.has("barrier_in_call_right")) barrier_in_call<<<1, 32>>>(array, 32);
  return cases.finish();
}
