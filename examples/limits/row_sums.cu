// Each lane sums a row of its warp's tile again and again; the lanes' words lie in one bank, 32-way bank
// conflicts. Mended: the tile's rows are padded by a word.
#include "examples/limits/pair.h"

constexpr int tile_size = 32, warps = 4, rounds = 8;

template <int pitch>
__device__ void sum_rows(const unsigned* in, unsigned* out) {
  __shared__ unsigned tiles[warps][tile_size * pitch];
  const int lane = threadIdx.x, first = (blockIdx.x * warps + threadIdx.y) * tile_size;
  unsigned* const tile = tiles[threadIdx.y];
  for (int row = 0; row < tile_size; ++row) tile[row * pitch + lane] = in[(first + row) * tile_size + lane];
  __syncwarp();
  unsigned sum = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll 8
    for (int k = 0; k < tile_size; ++k) {
      sum = 3 * sum + tile[lane * pitch + (k ^ round)];  // fault
    }
  }
  out[first + lane] = sum;
}

__global__ void slow(const unsigned* in, unsigned* out) { sum_rows<tile_size>(in, out); }
__global__ void mended(const unsigned* in, unsigned* out) { sum_rows<tile_size + 1>(in, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 16 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto rows = static_cast<std::size_t>(blocks) * warps * tile_size;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(rows * tile_size, 1000, 2)), out(rows);
  const dim3 block(tile_size, warps);
  return command.run(
      "row_sums", out, [&] { slow<<<blocks, block>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, block>>>(in.get(), out.get()); });
}
