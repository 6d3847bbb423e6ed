// Built with -rdc=true from two files, whose device code the device linker combines. Each file has
// its own strings and a variable, under names that the other file uses too.
#include <cuda_runtime.h>

#include <cstdio>

extern __device__ int factor;
extern __device__ int scaled(int value);
void launch_other(int* value);

static __device__ int own = 1000;
__global__ void scale(int* value) {
  value[0] = scaled(value[0]) + own;
  printf("first file, %d\n", own);
}

int main() {
  int* value = nullptr;
  int factor_read = 0;
  int read[2] = {7, 0};
  cudaMalloc(&value, sizeof read);
  cudaMemcpy(value, read, sizeof read, cudaMemcpyHostToDevice);
  scale<<<1, 1>>>(value);
  cudaDeviceSynchronize();
  launch_other(value + 1);
  const cudaError_t ran = cudaDeviceSynchronize();
  const cudaError_t symbol = cudaMemcpyFromSymbol(&factor_read, factor, sizeof(int));
  cudaMemcpy(read, value, sizeof read, cudaMemcpyDeviceToHost);
  std::printf("relocatable: %s, %s, %d %d %d\n", cudaGetErrorName(ran), cudaGetErrorName(symbol), read[0],
              read[1], factor_read);
  return 0;
}
