// Histogram of bytes with four different values, and a function of each byte.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/first_findings/timer.h"

__device__ float heavy(float x) {
  for (int i = 0; i < 24; ++i) x = x * 1.0001f + 0.5f;
  return x;
}

__device__ float light(float x) {
  for (int i = 0; i < 16; ++i) x = x * 0.99f - 0.25f;
  return x;
}

__global__ void histogram(const unsigned char* data, unsigned* bins, float* out, int n) {
#if MENDED == 1
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned char v = data[i];
#if MENDED == 1
    atomicAdd(&local[v], 1u);
#else
    atomicAdd(&bins[v], 1u);
#endif
#if MENDED == 2
    if (i / 32 & 1)
#else
    if (i & 1)
#endif
      out[i] = heavy(v);
    else
      out[i] = light(v);
  }
#if MENDED == 1
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i]) atomicAdd(&bins[i], local[i]);
#endif
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  int rounds = argc > 2 ? atoi(argv[2]) : 1;
  std::vector<unsigned char> bytes(n);
  unsigned x = 12345;
  for (auto& byte : bytes) {
    x = x * 1664525u + 1013904223u;
    byte = x >> 24 & 3;
  }
  unsigned char* data;
  unsigned* bins;
  float* out;
  cudaMalloc(&data, n);
  cudaMalloc(&bins, 1024);
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(data, bytes.data(), n, cudaMemcpyHostToDevice);
  Timer timer;
  for (int round = 0; round < rounds; ++round) {
    cudaMemset(bins, 0, 1024);
    timer.start();
    histogram<<<264, 256>>>(data, bins, out, n);
    timer.stop();
    timer.end_round();
  }
  unsigned counts[256];
  cudaMemcpy(counts, bins, 1024, cudaMemcpyDeviceToHost);
  printf("%u %u %u %u %s\n", counts[0], counts[1], counts[2], counts[3],
         cudaGetErrorString(cudaGetLastError()));
}
