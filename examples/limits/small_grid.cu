// A grid of 66 blocks, half as many as there are multiprocessors, whose threads take 16 elements each.
// Mended: one element per thread.
#include "examples/limits/pair.h"

constexpr int threads = 256, rounds = 256;

__device__ void hash_elements(const unsigned* in, unsigned* out, int n) {
  for (int i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
    out[i] = pair::mixed<rounds>(in[i]);
  }
}

__global__ void slow(const unsigned* in, unsigned* out, int n) { hash_elements(in, out, n); }
__global__ void mended(const unsigned* in, unsigned* out, int n) { hash_elements(in, out, n); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, pair::multiprocessors / 2);  // blocks of the slow kernel
  const int blocks = command.size(), n = blocks * threads * 64;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(n, 1 << 30, 59)), out(n);
  return command.run(
      "small_grid", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get(), n); },  // fault
      [&] { mended<<<n / threads, threads>>>(in.get(), out.get(), n); });
}
