// Built with -rdc=true: its device code is put together by the device linker.
#include <cuda_runtime.h>

#include <cstdio>

__device__ int factor = 3;
__global__ void scale(int* value) { *value *= factor; }

int main() {
  int* value = nullptr;
  int read = 0;
  cudaMalloc(&value, sizeof(int));
  scale<<<1, 1>>>(value);
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t symbol = cudaMemcpyFromSymbol(&read, factor, sizeof(int));
  std::printf("relocatable: %s, %s\n", cudaGetErrorName(launched), cudaGetErrorName(symbol));
  return 0;
}
