// Constants of double precision in a kernel that has single precision data: each operation converts there
// and back. Mended: constants of single precision.
#include "examples/limits/pair.h"

constexpr int threads = 256, terms = 32;

__global__ void slow(const float* in, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  float value = in[i];
#pragma unroll 4
  for (int k = 0; k < terms; ++k) {
    value = value * 0.9 + 0.1;  // fault
  }
  out[i] = value;
}

__global__ void mended(const float* in, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  float value = in[i];
#pragma unroll 4
  for (int k = 0; k < terms; ++k) value = value * 0.9f + 0.1f;
  out[i] = value;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 22);  // elements
  const int n = command.size(threads);
  const example::DeviceArray<float> in(pair::integers<float>(n, 1000, 47)), out(n);
  return command.run(
      "double_constants", out, [&] { slow<<<n / threads, threads>>>(in.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), out.get()); }, 1e-4);
}
