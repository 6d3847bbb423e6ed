// One kernel per rule about multiprocessors and warps; with -DFIX no rule holds.
#include "tests/end_to_end/findings/data.h"

#ifdef FIX
constexpr bool is_fixed = true;
#else
constexpr bool is_fixed = false;
#endif

__device__ float rounds(float x, int count) {
  for (int k = 0; k < count; ++k) x = x * 1.01f + k;
  return x;
}

__global__ void few(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = rounds(threadIdx.x, 100); }

__global__ void tail(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = rounds(threadIdx.x, 100); }

__global__ void uneven(float* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = rounds(threadIdx.x, is_fixed || blockIdx.x != 0 ? 100 : 5000);
}

__global__ void crowded(float* out) {
  __shared__ float all[is_fixed ? 128 : 12000];
  all[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = rounds(all[127 - threadIdx.x], 100);
}

int main() {
  float* const out = zeros<float>(132 * 32 * 128);
  few<<<is_fixed ? 132 : 33, 128>>>(out);
  tail<<<is_fixed ? 132 * 32 : 2904, 128>>>(out);
  uneven<<<132, 128>>>(out);
  crowded<<<132 * 16, 128>>>(out);
  return finish();
}
