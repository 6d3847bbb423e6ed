// A kernel that launches a kernel (CUDA dynamic parallelism); built with -rdc=true.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void child(int* value) { *value = 7; }
__global__ void parent(int* value) { child<<<1, 1>>>(value); }

int main() {
  int* value = nullptr;
  cudaMalloc(&value, sizeof(int));
  parent<<<1, 1>>>(value);
  std::printf("device_launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
