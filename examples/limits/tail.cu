// A multiprocessor holds two blocks of 1,024 threads, and the grid has six blocks more than fit on all 132:
// while these run, most multiprocessors are idle. Mended: blocks of 128 threads.
#include "examples/limits/pair.h"

constexpr int most_threads = 1024, few_threads = 128, rounds = 8192;

__device__ void hash_element(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = pair::mixed<rounds>(in[i]);
}

__global__ void __launch_bounds__(most_threads) slow(const unsigned* in, unsigned* out) {
  hash_element(in, out);
}
__global__ void __launch_bounds__(few_threads) mended(const unsigned* in, unsigned* out) {
  hash_element(in, out);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 2 * pair::multiprocessors + 6);  // blocks of the slow kernel
  const int blocks = command.size(), n = blocks * most_threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(n, 1 << 30, 60)), out(n);
  return command.run(
      "tail", out, [&] { slow<<<blocks, most_threads>>>(in.get(), out.get()); },  // fault
      [&] { mended<<<n / few_threads, few_threads>>>(in.get(), out.get()); });
}
