// Product of square matrices, one thread for each element.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/first_findings/timer.h"

__global__ void mm(const float* a, const float* b, float* c, int n) {
#if MENDED == 1
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
#else
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
#endif
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1024;
  int rounds = argc > 2 ? atoi(argv[2]) : 1;
  std::vector<float> values(n * n), result(n * n);
  for (int i = 0; i < n * n; ++i) values[i] = i % 7;
  float *a, *b, *c;
  size_t bytes = values.size() * sizeof(float);
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMalloc(&c, bytes);
  cudaMemcpy(a, values.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, values.data(), bytes, cudaMemcpyHostToDevice);
  Timer timer;
  dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8);
  for (int round = 0; round < rounds; ++round) {
    timer.start();
    mm<<<grid, block>>>(a, b, c, n);
    timer.stop();
    timer.end_round();
  }
  cudaMemcpy(result.data(), c, bytes, cudaMemcpyDeviceToHost);
  double total = 0;
  for (float value : result) total += value;
  printf("%.0f %s\n", total, cudaGetErrorString(cudaGetLastError()));
}
