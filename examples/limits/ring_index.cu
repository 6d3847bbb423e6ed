// Sums over a ring buffer whose index is a remainder. Mended: a mask, since the size is a power of two.
#include "examples/limits/pair.h"

constexpr int threads = 128, steps = 24, usual_size = 1024;

__global__ void slow(const unsigned* ring, unsigned size, unsigned* out) {
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  unsigned sum = 0, at = i;
#pragma unroll 2
  for (int k = 0; k < steps; ++k) {
    at += 37;
    sum = sum * 3 + ring[at % size];  // fault
  }
  out[i] = sum;
}

__global__ void mended(const unsigned* ring, unsigned size, unsigned* out) {
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  unsigned sum = 0, at = i;
#pragma unroll 2
  for (int k = 0; k < steps; ++k) {
    at += 37;
    sum = sum * 3 + ring[at & (size - 1)];
  }
  out[i] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 22);  // results
  const int n = command.size(threads);
  const example::DeviceArray<unsigned> ring(pair::integers<unsigned>(usual_size, 1000, 76)), out(n);
  return command.run(
      "ring_index", out, [&] { slow<<<n / threads, threads>>>(ring.get(), usual_size, out.get()); },
      [&] { mended<<<n / threads, threads>>>(ring.get(), usual_size, out.get()); });
}
