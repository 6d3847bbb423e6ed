// A kernel whose words only probes can count, in launches with room for counters of all shared memory,
// of one array, or of none (crowded_test.py): an SM holds 32 blocks of 64 threads, each with up to
// 6272 bytes.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t status = (call);                                     \
    if (status != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
      std::exit(2);                                                        \
    }                                                                      \
  } while (false)

constexpr unsigned bins = 64, rounds = 16, blocks = 3;

__global__ void crowded(const unsigned* in, unsigned* out, unsigned words) {
  extern __shared__ unsigned room[];
  __shared__ unsigned counts[bins];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) room[i] = i;
  if (threadIdx.x < bins) counts[threadIdx.x] = 0;
  __syncthreads();
  unsigned value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned i = 0; i < rounds; ++i) {
    atomicAdd(&counts[value % bins], 1u);
    value = room[value % words] + value / 3;
  }
  __syncthreads();
  if (threadIdx.x < bins) atomicAdd(&out[threadIdx.x], counts[threadIdx.x]);
}

int main() {
  struct Launch {
    unsigned threads, shared_bytes;
  };
  std::vector<unsigned> numbers(blocks * 256), sums(bins);
  std::iota(numbers.begin(), numbers.end(), 12345u);
  unsigned *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, numbers.size() * sizeof(unsigned)));
  CHECK(cudaMalloc(&out, bins * sizeof(unsigned)));
  CHECK(cudaMemcpy(in, numbers.data(), numbers.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(out, 0, bins * sizeof(unsigned)));
  // Room for counters of everything, of `counts` alone, of nothing.
  for (const Launch& each : {Launch{256, 5600}, Launch{64, 5600}, Launch{64, 5900}}) {
    crowded<<<blocks, each.threads, each.shared_bytes>>>(in, out, each.shared_bytes / sizeof(unsigned));
    CHECK(cudaGetLastError());
  }
  CHECK(cudaMemcpy(sums.data(), out, bins * sizeof(unsigned), cudaMemcpyDeviceToHost));
  const unsigned accesses = std::accumulate(sums.begin(), sums.end(), 0u);
  std::printf("crowded: %s\n", accesses == blocks * (256 + 64 + 64) * rounds ? "ok" : "wrong");
  return accesses == blocks * (256 + 64 + 64) * rounds ? 0 : 1;
}
