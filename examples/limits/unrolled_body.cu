// A loop that is unrolled to a body of 9,216 instructions, more than the instruction caches hold, whose
// warps are in different parts of it. Mended: unrolled 16 times.
#include "examples/limits/pair.h"

constexpr int threads = 256, steps = 4608, rounds = 3;

__global__ void slow(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  unsigned value = in[i], other = i;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < steps; ++k) {
      value = value * 1664525u + other;  // fault
      other = other * 69069u + value;    // fault
    }
  }
  out[i] = value ^ other;
}

__global__ void mended(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  unsigned value = in[i], other = i;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll 16
    for (int k = 0; k < steps; ++k) {
      value = value * 1664525u + other;
      other = other * 69069u + value;
    }
  }
  out[i] = value ^ other;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 4 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1 << 30, 62)), out(elements);
  return command.run(
      "unrolled_body", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
