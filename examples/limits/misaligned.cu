// A copy from an array that begins one word after a sector's boundary: a sector more per warp, which the
// caches have. Mended by alignment, which gains nothing.
#include "examples/limits/pair.h"

constexpr int threads = 256;

__global__ void slow(const float* in, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = in[i] + 1;  // fault
}

__global__ void mended(const float* in, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = in[i] + 1;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 25);  // elements
  const int n = command.size(threads);
  auto values = pair::integers<float>(n, 1000, 12);
  const example::DeviceArray<float> aligned(values), out(n);
  values.insert(values.begin(), 0);
  const example::DeviceArray<float> later(values);
  return command.run(
      "misaligned", out, [&] { slow<<<n / threads, threads>>>(later.get() + 1, out.get()); },
      [&] { mended<<<n / threads, threads>>>(aligned.get(), out.get()); });
}
