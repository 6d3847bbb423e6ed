// Few threads that wait for each load before the next one. Mended: eight loads at a time.
#include "examples/limits/pair.h"

constexpr int threads = 128, at_a_time = 8, steps = 256;

__global__ void slow(const unsigned* in, unsigned* out) {
  const int all = gridDim.x * threads, i = blockIdx.x * threads + threadIdx.x;
  unsigned sum = 0;
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    sum = sum * 5 + in[k * all + i];  // fault
  }
  out[i] = sum;
}

__global__ void mended(const unsigned* in, unsigned* out) {
  const int all = gridDim.x * threads, i = blockIdx.x * threads + threadIdx.x;
  unsigned sum = 0;
#pragma unroll 1
  for (int k = 0; k < steps; k += at_a_time) {
    unsigned values[at_a_time];
    for (int j = 0; j < at_a_time; ++j) values[j] = in[(k + j) * all + i];
    for (int j = 0; j < at_a_time; ++j) sum = sum * 5 + values[j];
  }
  out[i] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 2 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto results = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(results * steps, 1000, 83)), out(results);
  return command.run(
      "serial_loads", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
