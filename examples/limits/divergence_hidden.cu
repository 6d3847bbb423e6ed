// A branch at which each warp diverges, in a kernel that device memory limits. Mended: without a branch,
// which gains nothing.
#include "examples/limits/pair.h"

constexpr int threads = 256, terms = 8;

__device__ unsigned value_of(unsigned value, unsigned factor, unsigned offset) {
#pragma unroll 1
  for (int k = 0; k < terms; ++k) value = value * factor + offset;
  return value;
}

__global__ void slow(const uint4* in, uint4* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  uint4 value = in[i];
  if (i % 2 == 0) {  // fault
    value.x = value_of(value.x, 1664525u, 1013904223u);
  } else {
    value.x = value_of(value.x, 69069u, 1u);
  }
  out[i] = value;
}

__global__ void mended(const uint4* in, uint4* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  uint4 value = in[i];
  const bool is_even = i % 2 == 0;
  value.x = value_of(value.x, is_even ? 1664525u : 69069u, is_even ? 1013904223u : 1u);
  out[i] = value;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 23);  // vectors of 16 bytes
  const int n = command.size(threads);
  const auto values = pair::integers<unsigned>(4 * static_cast<std::size_t>(n), 1 << 30, 46);
  const example::DeviceArray<unsigned> in(values), out(values.size());
  const auto four = [](const example::DeviceArray<unsigned>& array) {
    return reinterpret_cast<uint4*>(array.get());
  };
  return command.run(
      "divergence_hidden", out, [&] { slow<<<n / threads, threads>>>(four(in), four(out)); },
      [&] { mended<<<n / threads, threads>>>(four(in), four(out)); });
}
