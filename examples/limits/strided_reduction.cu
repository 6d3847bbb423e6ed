// A block's tree reduction whose active threads use words further apart in each step: up to 16-way bank
// conflicts. Mended: neighbouring threads use neighbouring words.
#include "examples/limits/pair.h"

constexpr int threads = 256;

__global__ void slow(const unsigned* in, unsigned* out) {
  __shared__ unsigned values[threads];
  values[threadIdx.x] = in[blockIdx.x * threads + threadIdx.x];
  for (int distance = 1; distance < threads; distance *= 2) {
    __syncthreads();
    const int i = 2 * distance * threadIdx.x;
    if (i < threads) values[i] += values[i + distance];  // fault
  }
  if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

__global__ void mended(const unsigned* in, unsigned* out) {
  __shared__ unsigned values[threads];
  values[threadIdx.x] = in[blockIdx.x * threads + threadIdx.x];
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x < distance) values[threadIdx.x] += values[threadIdx.x + distance];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 17);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1000, 4)), out(blocks);
  return command.run(
      "strided_reduction", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
