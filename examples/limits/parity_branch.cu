// Even and odd elements are computed in different ways, and neighbouring lanes take different branches.
// Mended: the first half of a block takes the even elements, the second half the odd ones.
#include "examples/limits/pair.h"

constexpr int threads = 256, rounds = 128;

__device__ unsigned value_of(unsigned value, int i) {
  if (i % 2 == 0) return pair::mixed<rounds, 1>(value);  // fault
  return pair::mixed<rounds, 2>(value);
}

__global__ void slow(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = value_of(in[i], i);
}

__global__ void mended(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x % (threads / 2) * 2 + threadIdx.x / (threads / 2);
  out[i] = value_of(in[i], i);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 22);  // elements
  const int n = command.size(threads);
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(n, 1 << 30, 42)), out(n);
  return command.run(
      "parity_branch", out, [&] { slow<<<n / threads, threads>>>(in.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), out.get()); });
}
