// A division by a number that the compiler does not know, to find the row of an element, in a kernel that
// device memory limits. Mended: a grid with the rows in y, which gains nothing.
#include "examples/limits/pair.h"

constexpr int threads = 256;

__global__ void slow(const float4* in, const float* factors, int columns, float4* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float factor = factors[i / columns];  // fault
  const float4 value = in[i];
  out[i] = make_float4(value.x * factor, value.y * factor, value.z * factor, value.w * factor);
}

__global__ void mended(const float4* in, const float* factors, int columns, float4* out) {
  const int i = blockIdx.y * columns + blockIdx.x * threads + threadIdx.x;
  const float factor = factors[blockIdx.y];
  const float4 value = in[i];
  out[i] = make_float4(value.x * factor, value.y * factor, value.z * factor, value.w * factor);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 12);  // rows
  constexpr int columns = 2048;
  const int rows = command.size(), n = rows * columns;
  const example::DeviceArray<float> in(pair::integers<float>(4 * static_cast<std::size_t>(n), 1000, 50));
  const example::DeviceArray<float> factors(pair::integers<float>(rows, 16, 51)), out(in.size());
  const auto four = [](const example::DeviceArray<float>& array) {
    return reinterpret_cast<float4*>(array.get());
  };
  return command.run(
      "division_hidden", out,
      [&] { slow<<<n / threads, threads>>>(four(in), factors.get(), columns, four(out)); },
      [&] {
        mended<<<dim3(columns / threads, rows), threads>>>(four(in), factors.get(), columns, four(out));
      });
}
