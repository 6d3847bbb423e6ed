// Sums of two arrays, a float per thread. Mended by vector loads of four floats, which gains little: device
// memory limits both.
#include "examples/limits/pair.h"

constexpr int threads = 256;

__global__ void slow(const float* a, const float* b, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = a[i] + b[i];  // fault
}

__global__ void mended(const float4* a, const float4* b, float4* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float4 left = a[i], right = b[i];
  out[i] = make_float4(left.x + right.x, left.y + right.y, left.z + right.z, left.w + right.w);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 25);  // elements
  const int n = command.size(4 * threads);
  const auto values = pair::integers<float>(n, 1000, 17);
  const example::DeviceArray<float> a(values), b(values), out(n);
  const auto four = [](const example::DeviceArray<float>& array) {
    return reinterpret_cast<float4*>(array.get());
  };
  return command.run(
      "scalar_loads", out, [&] { slow<<<n / threads, threads>>>(a.get(), b.get(), out.get()); },
      [&] { mended<<<n / 4 / threads, threads>>>(four(a), four(b), four(out)); });
}
