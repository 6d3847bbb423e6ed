// Sums of rows by trees in shared memory, with a barrier per level. Mended: shuffles within warps, and one
// barrier per row.
#include "examples/limits/pair.h"

constexpr int threads = 256, lanes = 32, rows_of_block = 16;

__global__ void slow(const unsigned* in, unsigned* out) {
  __shared__ unsigned values[threads];
  for (int k = 0; k < rows_of_block; ++k) {
    const int row = blockIdx.x * rows_of_block + k;
    values[threadIdx.x] = in[row * threads + threadIdx.x];
    for (int half = threads / 2; half > 0; half /= 2) {
      __syncthreads();                                                            // fault
      if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];  // fault
    }
    if (threadIdx.x == 0) out[row] = values[0];
  }
}

__global__ void mended(const unsigned* in, unsigned* out) {
  __shared__ unsigned sums[2][threads / lanes];
  for (int k = 0; k < rows_of_block; ++k) {
    const int row = blockIdx.x * rows_of_block + k;
    unsigned sum = in[row * threads + threadIdx.x];
    for (int half = lanes / 2; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
    if (threadIdx.x % lanes == 0) sums[k % 2][threadIdx.x / lanes] = sum;
    __syncthreads();
    if (threadIdx.x != 0) continue;
    for (int warp = 1; warp < threads / lanes; ++warp) sum += sums[k % 2][warp];
    out[row] = sum;
  }
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 32 * pair::multiprocessors);  // blocks
  const int blocks = command.size(), rows = blocks * rows_of_block;
  const auto elements = static_cast<std::size_t>(rows) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1000, 77)), out(rows);
  return command.run(
      "tree_sums", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
