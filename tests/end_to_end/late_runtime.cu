// A library that a program without the CUDA runtime opens; only the library is linked with it.
#include <cuda_runtime.h>

#include <cstdio>

__device__ int scale = 2;

__global__ void twice(int* values) { values[threadIdx.x] *= scale; }

namespace {

/// EARLY: calls the runtime before any other function of this library is called.
struct Devices {
  int count = -1;
  Devices() { cudaGetDeviceCount(&count); }
};
#ifdef EARLY
Devices devices;
#endif

}  // namespace

/// Returns the number of devices plus 2 * (0 + … + 63); negative if a call failed, after printing it.
extern "C" int run_kernel() {
#ifndef EARLY
  const Devices devices;
#endif
  int host[64];
  for (int i = 0; i < 64; ++i) host[i] = i;
  int* device = nullptr;
  cudaError_t status = cudaMalloc(&device, sizeof host);
  if (status == cudaSuccess) status = cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  if (status == cudaSuccess) {
    twice<<<1, 64>>>(device);
    status = cudaGetLastError();
  }
  if (status == cudaSuccess) status = cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  if (status != cudaSuccess) {
    std::printf("failed: %s\n", cudaGetErrorString(status));
    return -1;
  }
  int sum = 0;
  for (const int value : host) sum += value;
  return devices.count * 10000 + sum;
}
