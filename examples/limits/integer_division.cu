// Divisions by a number that the compiler does not know. Mended: multiplication by a reciprocal that the
// host has computed.
#include "examples/limits/pair.h"

constexpr int threads = 256, terms = 32;

/// floor(value / divisor) is the high word of value * factor, for values below 2^16 and divisors up to 2^16.
__device__ unsigned quotient(unsigned value, unsigned factor) { return __umulhi(value, factor); }

__global__ void slow(const unsigned* in, unsigned divisor, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  unsigned value = in[i], sum = 0;
#pragma unroll 4
  for (int k = 0; k < terms; ++k) {
    const unsigned dividend = (value + 977 * k) & 0xffff;
    sum = sum * 31 + dividend / divisor;  // fault
  }
  out[i] = sum;
}

__global__ void mended(const unsigned* in, unsigned factor, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  unsigned value = in[i], sum = 0;
#pragma unroll 4
  for (int k = 0; k < terms; ++k) {
    const unsigned dividend = (value + 977 * k) & 0xffff;
    sum = sum * 31 + quotient(dividend, factor);
  }
  out[i] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 22);  // elements
  const int n = command.size(threads);
  constexpr unsigned divisor = 37;
  constexpr unsigned factor = static_cast<unsigned>((std::uint64_t{1} << 32) / divisor + 1);
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(n, 1 << 30, 49)), out(n);
  return command.run(
      "integer_division", out, [&] { slow<<<n / threads, threads>>>(in.get(), divisor, out.get()); },
      [&] { mended<<<n / threads, threads>>>(in.get(), factor, out.get()); });
}
