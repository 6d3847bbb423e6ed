// Sums of 17 neighbours in a line, all read from global memory. Mended: a block reads its part of the line
// to shared memory once.
#include "examples/limits/pair.h"

constexpr int threads = 256, radius = 8;

__global__ void slow(const int* in, int* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  int sum = 0;
  for (int k = 0; k <= 2 * radius; ++k) {
    sum += in[i + k] * (k + 1);  // fault
  }
  out[i] = sum;
}

__global__ void mended(const int* in, int* out) {
  __shared__ int line[threads + 2 * radius];
  const int i = blockIdx.x * threads + threadIdx.x;
  line[threadIdx.x] = in[i];
  if (threadIdx.x < 2 * radius) line[threads + threadIdx.x] = in[i + threads];
  __syncthreads();
  int sum = 0;
  for (int k = 0; k <= 2 * radius; ++k) sum += line[threadIdx.x + k] * (k + 1);
  out[i] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 24);  // elements
  const int n = command.size(threads);
  const example::DeviceArray<int> in(pair::integers<int>(n + 2 * radius, 1000, 18)), out(n);
  return command.run(
      "line_stencil", out, [&] { slow<<<n / threads, threads>>>(in.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), out.get()); });
}
