// Launches a kernel three times and resets the device without waiting, twice.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void step(int* value) { atomicAdd(value, 1); }

int main() {
  for (int round = 0; round < 2; ++round) {
    int* value = nullptr;
    if (cudaMalloc(&value, sizeof(int)) != cudaSuccess || cudaMemset(value, 0, sizeof(int)) != cudaSuccess)
      return 2;
    for (int launch = 0; launch < 3; ++launch) step<<<2, 40>>>(value);
    if (cudaGetLastError() != cudaSuccess || cudaDeviceReset() != cudaSuccess) return 1;
  }
  std::printf("reset: twice\n");
  return 0;
}
