// Kernels whose accesses concentrate on one address or line, and one whose accesses do not (band_test.py).
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t status = (call);                                     \
    if (status != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
      std::exit(2);                                                        \
    }                                                                      \
  } while (false)

constexpr unsigned rounds = 16;

/// All warps read the same 256 bytes, at an offset of 512 bytes in the array.
__global__ void one_line(const float* table, float* out) {
  float sum = 0;
  for (unsigned i = 0; i < rounds; ++i) sum += table[128 + (threadIdx.x + i) % 64];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// All threads add to one counter, at an offset of 8 bytes in the array.
__global__ void one_counter(unsigned* counters, const unsigned* in, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + atomicAdd(&counters[2], in[i] + 1) * 0;
}

/// Each thread reads and writes its own element, and adds to one of many counters.
__global__ void spread(const float* in, float* out, unsigned* counters) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + 1;
  atomicAdd(&counters[i % 1024], 1u);
}

int main() {
  constexpr unsigned blocks = 64, threads = 128, count = blocks * threads;
  float *in = nullptr, *out = nullptr;
  unsigned* counters = nullptr;
  CHECK(cudaMalloc(&in, count * sizeof(float)));
  CHECK(cudaMalloc(&out, count * sizeof(float)));
  CHECK(cudaMalloc(&counters, 1024 * sizeof(unsigned)));
  CHECK(cudaMemset(in, 0, count * sizeof(float)));
  CHECK(cudaMemset(counters, 0, 1024 * sizeof(unsigned)));
  one_line<<<blocks, threads>>>(in, out);
  one_counter<<<blocks, threads>>>(counters, reinterpret_cast<unsigned*>(in),
                                   reinterpret_cast<unsigned*>(out));
  spread<<<blocks, threads>>>(in, out, counters);
  CHECK(cudaGetLastError());
  unsigned added = 0;
  CHECK(cudaMemcpy(&added, counters + 2, sizeof added, cudaMemcpyDeviceToHost));
  std::printf("hot: %u\n", added);
  return added == count + count / 1024 ? 0 : 1;
}
