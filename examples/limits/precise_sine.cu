// Sums of sines by sinf, whose reduction of the argument takes many instructions. Mended: __sinf, whose
// error is small for these arguments.
#include "examples/limits/pair.h"

constexpr int threads = 256, terms = 16;

__global__ void slow(const float* in, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float x = in[i];
  float sum = 0;
#pragma unroll 4
  for (int k = 1; k <= terms; ++k) {
    sum += sinf(x * k);  // fault
  }
  out[i] = sum;
}

__global__ void mended(const float* in, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float x = in[i];
  float sum = 0;
#pragma unroll 4
  for (int k = 1; k <= terms; ++k) sum += __sinf(x * k);
  out[i] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 22);  // elements
  const int n = command.size(threads);
  auto values = pair::integers<float>(n, 1000, 48);
  for (float& value : values) value /= 5000;
  const example::DeviceArray<float> in(values), out(n);
  return command.run(
      "precise_sine", out, [&] { slow<<<n / threads, threads>>>(in.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), out.get()); }, 1e-4);
}
