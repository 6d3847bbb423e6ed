// Three barriers that are not needed in a kernel that device memory limits. Mended: without them, which
// gains nothing.
#include "examples/limits/pair.h"

constexpr int threads = 128;

template <bool has_barriers>
__device__ void add(const float4* a, const float4* b, float4* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float4 left = a[i];
  if (has_barriers) __syncthreads();  // fault
  const float4 right = b[i];
  if (has_barriers) __syncthreads();  // fault
  out[i] = make_float4(left.x + right.x, left.y + right.y, left.z + right.z, left.w + right.w);
  if (has_barriers) __syncthreads();  // fault
}

__global__ void slow(const float4* a, const float4* b, float4* out) { add<true>(a, b, out); }
__global__ void mended(const float4* a, const float4* b, float4* out) { add<false>(a, b, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 25);  // elements
  const int n = command.size(4 * threads), blocks = n / 4 / threads;
  const auto values = pair::integers<float>(n, 1000, 41);
  const example::DeviceArray<float> a(values), b(values), out(n);
  const auto four = [](const example::DeviceArray<float>& array) {
    return reinterpret_cast<float4*>(array.get());
  };
  return command.run(
      "barrier_hidden", out, [&] { slow<<<blocks, threads>>>(four(a), four(b), four(out)); },
      [&] { mended<<<blocks, threads>>>(four(a), four(b), four(out)); });
}
