// The kernels of scripts/conformance. Between launches, the program attaches other specifications through its
// own LYNXPP_SPEC.
//   conformance CASES    each line of the file: SPECIFICATION KERNEL GRID_X GRID_Y GRID_Z BLOCK_X
//                        BLOCK_Y BLOCK_Z
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

__device__ unsigned int thread_of_grid(unsigned int* in_block) {
  *in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  return block * (blockDim.x * blockDim.y * blockDim.z) + *in_block;
}

__global__ void straight(const unsigned int* in, unsigned int* out) {
  unsigned int in_block;
  const unsigned int thread = thread_of_grid(&in_block);
  out[thread] = in[thread] + 1;
}

/// Odd threads iterate (number mod 4) times.
__global__ void divergent(const unsigned int* in, unsigned int* out) {
  unsigned int in_block;
  const unsigned int thread = thread_of_grid(&in_block);
  if (in_block % 2 == 0) return;
#pragma unroll 1
  for (unsigned int i = 0; i < in_block % 4; ++i) {
    out[thread] = in[thread] + i;
    __threadfence();
  }
}

/// Uses a barrier and values that other threads stored in shared memory.
__global__ void together(const unsigned int* in, unsigned int* out) {
  __shared__ unsigned int values[1024];
  unsigned int in_block;
  const unsigned int thread = thread_of_grid(&in_block);
  values[in_block] = in[thread];
  __syncthreads();
  const unsigned int size = blockDim.x * blockDim.y * blockDim.z;
  out[thread] = values[(in_block + 1) % size];
}

using Kernel = void (*)(const unsigned int*, unsigned int*);
Kernel kernel_of(const char* name) {
  if (std::strcmp(name, "straight") == 0) return straight;
  if (std::strcmp(name, "divergent") == 0) return divergent;
  return std::strcmp(name, "together") == 0 ? together : nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  std::FILE* cases = count == 2 ? std::fopen(arguments[1], "r") : nullptr;
  if (cases == nullptr) return std::fputs("usage: conformance CASES\n", stderr), 2;
  constexpr std::size_t threads = 1u << 16;
  unsigned int* memory = nullptr;
  if (cudaMalloc(&memory, 2 * threads * sizeof(unsigned int)) != cudaSuccess) return 2;
  char specification[1024];
  char name[64];
  unsigned int n[6];
  while (std::fscanf(cases, "%1023s %63s %u %u %u %u %u %u", specification, name, &n[0], &n[1], &n[2], &n[3],
                     &n[4], &n[5]) == 8) {
    const Kernel kernel = kernel_of(name);
    const std::size_t wanted = std::size_t{n[0]} * n[1] * n[2] * n[3] * n[4] * n[5];
    if (kernel == nullptr || wanted > threads) return std::fprintf(stderr, "no such case: %s\n", name), 2;
    if (cudaMemset(memory, 1, 2 * threads * sizeof(unsigned int)) != cudaSuccess) return 2;
    setenv("LYNXPP_SPEC", specification, 1);
    kernel<<<dim3(n[0], n[1], n[2]), dim3(n[3], n[4], n[5])>>>(memory, memory + threads);
    std::vector<unsigned int> results(threads);
    if (cudaMemcpy(results.data(), memory + threads, threads * sizeof(unsigned int),
                   cudaMemcpyDeviceToHost) != cudaSuccess)
      return 2;
    unsigned long sum = 0;
    for (std::size_t i = 0; i < threads; ++i) sum = sum * 31 + results[i];
    std::printf("%s %lx\n", name, sum);
  }
  std::fclose(cases);
  return 0;
}
