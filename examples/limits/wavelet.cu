// A filter of six taps over pairs of elements. Only the even ones go through shared memory, the odd ones are
// read from global memory three times. Mended: both go through shared memory. (CuMAPz's benchmark of the
// same name, one buffer and two.)
#include "examples/limits/pair.h"

constexpr int threads = 128;

template <bool has_odd>
__device__ void filter(const float* x, float* low, float* high) {
  __shared__ float even[threads], odd[threads];
  const int i = blockIdx.x * threads + threadIdx.x;
  even[threadIdx.x] = x[2 * i];
  if (has_odd) odd[threadIdx.x] = x[2 * i + 1];
  __syncthreads();
  float taps[6];
#pragma unroll
  for (int k = 0; k < 6; ++k) {
    const int place = threadIdx.x + k / 2;
    if ((has_odd || k % 2 == 0) && place < threads) {
      taps[k] = (k % 2 == 0 ? even : odd)[place];
    } else {
      taps[k] = x[2 * i + k];  // fault
    }
  }
  low[i] = taps[0] + 2 * taps[1] + 3 * taps[2] + 3 * taps[3] + 2 * taps[4] + taps[5];
  high[i] = taps[5] - 2 * taps[4] + 3 * taps[3] - 3 * taps[2] + 2 * taps[1] - taps[0];
}

__global__ void slow(const float* x, float* low, float* high) { filter<false>(x, low, high); }
__global__ void mended(const float* x, float* low, float* high) { filter<true>(x, low, high); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 24);  // pairs of elements
  const int n = command.size(threads);
  const example::DeviceArray<float> x(pair::integers<float>(2 * static_cast<std::size_t>(n) + 4, 256, 26));
  const example::DeviceArray<float> out(2 * static_cast<std::size_t>(n));
  return command.run(
      "wavelet", out, [&] { slow<<<n / threads, threads>>>(x.get(), out.get(), out.get() + n); },
      [&] { mended<<<n / threads, threads>>>(x.get(), out.get(), out.get() + n); });
}
