// Functions are named after the cases; each makes one kind of invalid access. A comment after
// an access to be reported names the case and the kind of error.
#include "tests/end_to_end/checks/cases.h"

__global__ void behind_end(int* array, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= count) array[i] = i;  // behind_end: out of bounds
}

__global__ void before_begin(const int* array, int* result) {
  result[threadIdx.x] = array[static_cast<int>(threadIdx.x) - 1];  // before_begin: out of bounds
}

__global__ void atomic_behind_end(int* array, int count) {
  atomicAdd(&array[count + threadIdx.x], 1);  // atomic_behind_end: out of bounds
}

__global__ void null_pointer(const int* array, int* result) {
  result[threadIdx.x] = array[threadIdx.x];  // null_pointer: out of bounds
}

__global__ void two_places(int* array, int count) {
  array[count + threadIdx.x] = 1;       // two_places: out of bounds
  array[count + 64 + threadIdx.x] = 2;  // two_places: out of bounds
}

__global__ void after_free(const int* array, int* result) {
  result[threadIdx.x] = array[threadIdx.x];  // after_free: use after free
}

__global__ void after_free_async(const int* array, int* result) {
  result[threadIdx.x] = array[threadIdx.x];  // after_free_async: use after free
}

__global__ void heap_after_free(int* result) {
  int* const own = static_cast<int*>(malloc(64));
  own[threadIdx.x] = 3;
  free(own);
  result[threadIdx.x] = *static_cast<volatile int*>(own);  // heap_after_free: use after free
}

__global__ void odd_address(const char* bytes, int* result) {
  result[threadIdx.x] = *reinterpret_cast<const int*>(bytes + 1);  // odd_address: misaligned
}

__global__ void behind_shared_array(int* result, int shift) {
  __shared__ int first[32];
  __shared__ int second[32];
  first[threadIdx.x] = threadIdx.x;
  second[threadIdx.x] = 2 * threadIdx.x;
  __syncthreads();
  const int value = first[threadIdx.x + shift];  // behind_shared_array: out of bounds
  result[threadIdx.x] = second[31 - threadIdx.x] + value;
}

__global__ void behind_dynamic_memory(int* result, int shift) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x + shift] = 1;  // behind_dynamic_memory: out of bounds
  result[threadIdx.x] = 1;
}

__global__ void behind_local_array(int* result, int index) {
  int own[16];
  for (int i = 0; i < 16; ++i) own[i] = i * static_cast<int>(threadIdx.x);
  result[threadIdx.x] = own[index];  // behind_local_array: out of bounds
}

__device__ int variable[8];
__global__ void behind_variable(int* result, int index) {
  result[threadIdx.x] = variable[index + threadIdx.x];  // behind_variable: out of bounds
}

__global__ void correct(int* array, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) array[i] = i;
}

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const result = zeroed(64);
  int* const array = zeroed(100);
  if (cases.has("behind_end")) behind_end<<<4, 32>>>(array, 100);
  if (cases.has("before_begin")) before_begin<<<1, 32>>>(array, result);
  if (cases.has("atomic_behind_end")) atomic_behind_end<<<1, 32>>>(array, 100);
  if (cases.has("null_pointer")) null_pointer<<<1, 32>>>(nullptr, result);
  if (cases.has("two_places")) two_places<<<1, 32>>>(array, 100);
  if (cases.has("after_free")) {
    cudaFree(array);
    after_free<<<1, 32>>>(array, result);
  }
  if (cases.has("after_free_async")) {
    int* other = nullptr;
    cudaMallocAsync(&other, 400, nullptr);
    cudaMemsetAsync(other, 0, 400, nullptr);
    cudaFreeAsync(other, nullptr);
    after_free_async<<<1, 32>>>(other, result);
  }
  if (cases.has("heap_after_free")) heap_after_free<<<1, 1>>>(result);
  if (cases.has("odd_address")) odd_address<<<1, 32>>>(reinterpret_cast<const char*>(array), result);
  if (cases.has("behind_shared_array")) behind_shared_array<<<1, 32>>>(result, 4);
  if (cases.has("behind_dynamic_memory")) behind_dynamic_memory<<<1, 32, 128>>>(result, 1);
  if (cases.has("behind_local_array")) behind_local_array<<<1, 32>>>(result, 5000);
  if (cases.has("behind_variable")) behind_variable<<<1, 32>>>(result, 0);
  if (cases.has("correct")) correct<<<4, 32>>>(array, 100);
  return cases.finish();
}
