// A kernel that writes past an array, in a program that continues: one fault per argument.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void fill(int* array, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) array[i] = i;
}

// Not inlined, so that callers are identified by this function.
__attribute__((noinline)) int* make_array(int count) {
  int* array = nullptr;
  cudaMalloc(&array, count * sizeof(int));
  return array;
}

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const char* const fault = arguments[i];
    int* array = make_array(1000);
    int* host = static_cast<int*>(std::calloc(1000, sizeof(int)));
    int elements = 1000;
    int* target = array;
    if (std::strcmp(fault, "overrun") == 0) elements = 1001;
    if (std::strcmp(fault, "host") == 0) target = host;
    if (std::strcmp(fault, "wild") == 0) target = reinterpret_cast<int*>(0x123456789000);
    if (std::strcmp(fault, "misaligned") == 0)
      target = reinterpret_cast<int*>(reinterpret_cast<char*>(array) + 1);
    if (std::strcmp(fault, "freed") == 0) cudaFree(array);
    fill<<<8, 128>>>(target, elements);
    fill<<<8, 128>>>(target, 0);  // does not run after a fault
    const cudaError_t ended = cudaDeviceSynchronize();
    const cudaError_t later = cudaMalloc(&target, 4);
    for (int j = 0; j < 1000; ++j) {
      if (host[j] != 0) std::abort();
    }
    std::free(host);
    const cudaError_t reset = cudaDeviceReset();
    cudaGetLastError();
    int after = 0;
    array = make_array(1000);
    fill<<<8, 128>>>(array, 1000);
    const cudaError_t copied = cudaMemcpy(&after, array + 999, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(array);
    std::printf("%s: %d, then %d; after the reset %d %d %d\n", fault, ended, later, reset, copied, after);
  }
  return 0;
}
