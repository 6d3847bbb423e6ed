// Sums of inverse distances by a root and a division, both correctly rounded. Mended: an approximation of the
// inverse root.
#include "examples/limits/pair.h"

constexpr int threads = 256;

template <bool is_exact>
__device__ void sum_up(const float2* in, float* out) {
  __shared__ float2 others[threads];
  others[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int i = blockIdx.x * threads + threadIdx.x;
  const float2 own = in[i];
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < threads; ++k) {
    const float x = own.x - others[k].x, y = own.y - others[k].y, square = x * x + y * y + 1;
    sum += is_exact ? 1 / sqrtf(square) : rsqrtf(square);  // fault
  }
  out[i] = sum;
}

__global__ void slow(const float2* in, float* out) { sum_up<true>(in, out); }
__global__ void mended(const float2* in, float* out) { sum_up<false>(in, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 18);  // points
  const int n = command.size(threads);
  const example::DeviceArray<float> in(pair::integers<float>(2 * static_cast<std::size_t>(n), 100, 75)),
      out(n);
  const auto* const points = reinterpret_cast<const float2*>(in.get());
  return command.run(
      "inverse_distances", out, [&] { slow<<<n / threads, threads>>>(points, out.get()); },
      [&] { mended<<<n / threads, threads>>>(points, out.get()); }, 1e-4);
}
