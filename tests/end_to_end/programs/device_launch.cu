// Kernels that launch kernels (CUDA dynamic parallelism), built with -rdc=true: in order, recursively, and
// after the grid and all that it has launched; and one that does not.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void twice(int* values) { values[threadIdx.x] *= 2; }

__global__ void add(int* values, int value) { values[threadIdx.x] += value + static_cast<int>(blockIdx.x); }

// In order: (0 + 0 + 1 + 0 + 1) * 2, then + 100 of the tail launch, although it is launched first.
__global__ void parent(int* values) {
  if (threadIdx.x != 0) return;
  add<<<1, 8, 0, cudaStreamTailLaunch>>>(values, 100);
  add<<<2, 8>>>(values, 0);
  add<<<2, 8>>>(values, 0);
  twice<<<1, 8>>>(values);
}

// Launches itself with one level less, then adds 1 after all of them.
__global__ void descend(int* values, int levels) {
  if (levels == 0) return;
  descend<<<1, 1>>>(values, levels - 1);
  add<<<1, 8>>>(values, 1);
}

static void print(const char* name, const int* device) {
  int values[8];
  const cudaError_t error = cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost);
  std::printf("%s: %s, %d %d\n", name, cudaGetErrorName(error), values[0], values[7]);
}

int main() {
  int* values = nullptr;
  cudaMalloc(&values, 8 * sizeof(int));
  cudaMemset(values, 0, 8 * sizeof(int));
  parent<<<1, 32>>>(values);
  print("parent", values);
  descend<<<1, 1>>>(values, 20);
  print("descend", values);
  add<<<1, 8>>>(values, 1000);
  print("add", values);
  return 0;
}
