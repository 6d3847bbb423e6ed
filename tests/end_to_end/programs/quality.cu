// Kernels whose criteria are known in closed form, each in an NVTX range with its name (quality_test.py).
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

/// One lane in 32 executes long straight-line code.
__global__ void one_lane(unsigned* out, unsigned x) {
  if (threadIdx.x % 32 != 0) return;
#pragma unroll
  for (unsigned i = 0; i < 200; ++i) x = x * x + i;
  out[blockIdx.x] = x;
}

/// Accesses shared memory three times per access to global memory.
__global__ void near_memory(unsigned* out) {
  __shared__ volatile unsigned near[256];
  near[threadIdx.x] = threadIdx.x;
  const unsigned a = near[threadIdx.x];
  const unsigned b = near[threadIdx.x];
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
}

/// Warp 0 works while the others wait for it.
__global__ void waiting(unsigned* out, unsigned x) {
  if (threadIdx.x < 32) {
    for (unsigned i = 0; i < 20000; ++i) x = x * x + i;
  }
  __syncthreads();
  out[threadIdx.x] = x;
}

__global__ void empty_work(unsigned* out) { out[threadIdx.x] = threadIdx.x; }

int main() {
  constexpr unsigned count = 64 * 256;
  unsigned* out = nullptr;
  unsigned* pinned = nullptr;
  CHECK(cudaMalloc(&out, count * sizeof(unsigned)));
  CHECK(cudaMallocHost(&pinned, count * sizeof(unsigned)));
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));

  nvtxRangePushA("divergence");
  one_lane<<<64, 256>>>(out, 1);
  nvtxRangePop();

  const nvtxRangeId_t hierarchy = nvtxRangeStartA("hierarchy");
  near_memory<<<64, 256>>>(out);
  nvtxRangeEnd(hierarchy);

  nvtxRangePushA("barrier");
  waiting<<<1, 256>>>(out, 1);
  nvtxRangePop();

  CHECK(cudaDeviceSynchronize());
  nvtxRangePushA("copied");
  CHECK(cudaMemcpy(out, pinned, count * sizeof(unsigned), cudaMemcpyHostToDevice));
  empty_work<<<1, 256>>>(out);
  nvtxRangePop();

  CHECK(cudaDeviceSynchronize());
  nvtxRangePushA("overlapped");
  nvtxRangePushA("inner");
  CHECK(cudaMemcpyAsync(out, pinned, count * sizeof(unsigned), cudaMemcpyHostToDevice, first));
  empty_work<<<1, 256, 0, second>>>(out);
  nvtxRangePop();
  CHECK(cudaDeviceSynchronize());
  nvtxRangePop();

  CHECK(cudaGetLastError());
  std::puts("quality: ok");
  return 0;
}
