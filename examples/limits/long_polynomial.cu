// A polynomial of degree 127, all of whose coefficients beyond degree 31 are 0. Mended: of degree 31.
#include "examples/limits/pair.h"

constexpr int threads = 256, terms = 128, needed_terms = 32;

__constant__ float coefficients[terms];

template <int count>
__device__ void evaluate(const float* in, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float x = in[i], y = in[i] + 1;
  float sum = 0, other = 0;
#pragma unroll
  for (int k = count - 1; k >= 0; --k) {
    sum = fmaf(sum, x, coefficients[k]);      // fault
    other = fmaf(other, y, coefficients[k]);  // fault
  }
  out[i] = sum + other;
}

__global__ void slow(const float* in, float* out) { evaluate<terms>(in, out); }
__global__ void mended(const float* in, float* out) { evaluate<needed_terms>(in, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 24);  // elements
  const int n = command.size(threads);
  auto factors = pair::integers<float>(terms, 16, 53);
  std::fill(factors.begin() + needed_terms, factors.end(), 0.0f);
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, factors.data(), terms * sizeof(float)));
  auto values = pair::integers<float>(n, 1000, 54);
  for (float& value : values) value /= 1000;
  const example::DeviceArray<float> in(values), out(n);
  return command.run(
      "long_polynomial", out, [&] { slow<<<n / threads, threads>>>(in.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), out.get()); });
}
