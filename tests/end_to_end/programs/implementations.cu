// Four primitives with five implementations each, some worse than others, in the NVTX ranges
// PRIMITIVE/IMPLEMENTATION: the test program of `lynxpp quality --fit` (quality_test.py).
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

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

/// Each thread moves the elements at its index, with the given rounds of arithmetic; adjacent elements are
/// `stride` elements apart, modulo `count`, a power of two.
__global__ void move(const unsigned* in, unsigned* out, unsigned count, unsigned stride, unsigned rounds) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const unsigned place = (i * stride + i * stride / count) % count;
    unsigned value = in[place];
    for (unsigned round = 0; round < rounds; ++round) value = value * 5 + 1;
    out[place] = value;
  }
}

/// The first lane of each warp does the work of all lanes.
__global__ void move_by_one_lane(const unsigned* in, unsigned* out, unsigned count, unsigned rounds) {
  if (threadIdx.x % 32 != 0) return;
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = first; i < first + 32 && i < count; ++i) {
    unsigned value = in[i];
    for (unsigned round = 0; round < rounds; ++round) value = value * 5 + 1;
    out[i] = value;
  }
}

/// Moves through shared memory, in reverse order and back.
__global__ void move_near(const unsigned* in, unsigned* out, unsigned count, unsigned rounds) {
  __shared__ unsigned near[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  near[blockDim.x - 1 - threadIdx.x] = i < count ? in[i] : 0;
  __syncthreads();
  unsigned value = near[blockDim.x - 1 - threadIdx.x];
  for (unsigned round = 0; round < rounds; ++round) value = value * 5 + 1;
  if (i < count) out[i] = value;
}

int main() {
  constexpr unsigned largest = 1 << 15;
  unsigned *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, largest * sizeof(unsigned)));
  CHECK(cudaMalloc(&out, largest * sizeof(unsigned)));
  CHECK(cudaMemset(in, 0, largest * sizeof(unsigned)));
  const struct {
    const char* name;
    unsigned count, rounds;
  } primitives[] = {{"copy", 1 << 15, 0},
                    {"short copy", 1 << 13, 0},
                    {"arithmetic", 1 << 14, 40},
                    {"little arithmetic", 1 << 15, 8}};
  for (const auto& each : primitives) {
    nvtxRangePushA(each.name);
    nvtxRangePushA("wide");
    move<<<each.count / 256, 256>>>(in, out, each.count, 1, each.rounds);
    nvtxRangePop();
    nvtxRangePushA("few blocks");
    move<<<4, 64>>>(in, out, each.count, 1, each.rounds);
    nvtxRangePop();
    nvtxRangePushA("strided");
    move<<<each.count / 256, 256>>>(in, out, each.count, 32, each.rounds);
    nvtxRangePop();
    nvtxRangePushA("one lane");
    move_by_one_lane<<<each.count / 256, 256>>>(in, out, each.count, each.rounds);
    nvtxRangePop();
    nvtxRangePushA("near");
    move_near<<<each.count / 256, 256>>>(in, out, each.count, each.rounds);
    nvtxRangePop();
    nvtxRangePop();
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGetLastError());
  std::puts("implementations: ok");
  return 0;
}
