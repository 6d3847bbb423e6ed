// The real parts of complex numbers in shared memory: neighbouring lanes are 16 bytes apart, 2-way bank
// conflicts. Mended: real and imaginary parts in arrays of their own.
#include "examples/limits/pair.h"

constexpr int threads = 256, rounds = 512;

template <int stride, int imaginary>
__device__ void sum_parts(const double* in, double* out) {
  __shared__ double values[2 * threads];
  const int i = threadIdx.x;
  values[i * stride] = in[i];
  values[i * stride + imaginary] = in[threads + i];
  __syncthreads();
  double real = 0, other = 0;
  int at = i;
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
    real += values[at * stride];  // fault
    at = (at + 1) % threads;
    if (round == rounds - 1) other = values[at * stride + imaginary];
  }
  out[blockIdx.x * threads + i] = real + other + blockIdx.x;
}

__global__ void slow(const double* in, double* out) { sum_parts<2, 1>(in, out); }
__global__ void mended(const double* in, double* out) { sum_parts<1, threads>(in, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 16 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const example::DeviceArray<double> in(pair::integers<double>(2 * threads, 1000, 3));
  const example::DeviceArray<double> out(static_cast<std::size_t>(blocks) * threads);
  return command.run(
      "pairs_of_doubles", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
