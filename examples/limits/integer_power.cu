// Powers with an integer exponent by powf. Mended: by multiplication.
#include "examples/limits/pair.h"

constexpr int threads = 256, terms = 8;

__global__ void slow(const float* in, float exponent, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float x = in[i];
  float sum = 0;
#pragma unroll 2
  for (int k = 0; k < terms; ++k) {
    sum += powf(x + k, exponent);  // fault
  }
  out[i] = sum;
}

__global__ void mended(const float* in, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float x = in[i];
  float sum = 0;
#pragma unroll 2
  for (int k = 0; k < terms; ++k) sum += (x + k) * (x + k) * (x + k);
  out[i] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 22);  // elements
  const int n = command.size(threads);
  const example::DeviceArray<float> in(pair::integers<float>(n, 100, 52)), out(n);
  return command.run(
      "integer_power", out, [&] { slow<<<n / threads, threads>>>(in.get(), 3.0f, out.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), out.get()); }, 1e-5);
}
