// A copy with a factor from a small table in global memory, which the cache holds. Mended: the table in
// shared memory, which gains nothing.
#include "examples/limits/pair.h"

constexpr int threads = 256, entries = 256;

__global__ void slow(const float4* in, const float* table, float4* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float4 value = in[i];
  const float factor = table[static_cast<unsigned>(i) * 7 % entries];  // fault
  out[i] = make_float4(value.x * factor, value.y * factor, value.z * factor, value.w * factor);
}

__global__ void mended(const float4* in, const float* table, float4* out) {
  __shared__ float own[entries];
  const int i = blockIdx.x * threads + threadIdx.x;
  const float4 value = in[i];
  own[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  const float factor = own[static_cast<unsigned>(i) * 7 % entries];
  out[i] = make_float4(value.x * factor, value.y * factor, value.z * factor, value.w * factor);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 23);  // vectors
  const int n = command.size(threads);
  const example::DeviceArray<float> in(pair::integers<float>(4 * static_cast<std::size_t>(n), 100, 84));
  const example::DeviceArray<float> table(pair::integers<float>(entries, 16, 85)), out(in.size());
  const auto four = [](const example::DeviceArray<float>& array) {
    return reinterpret_cast<float4*>(array.get());
  };
  return command.run(
      "cached_table", out, [&] { slow<<<n / threads, threads>>>(four(in), table.get(), four(out)); },
      [&] { mended<<<n / threads, threads>>>(four(in), table.get(), four(out)); });
}
