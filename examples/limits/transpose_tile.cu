// A transpose through a tile of shared memory whose columns lie in one bank each: 32-way bank conflicts.
// Mended: the tile's rows are padded by a word. (Steps 1 and 2 of the CuMAPz paper's transpose.)
#include "examples/limits/pair.h"

constexpr int tile_size = 32, rows = 8;

template <int pitch>
__device__ void transpose(const float* in, float* out, int size) {
  __shared__ float tile[tile_size * pitch];
  const int x = blockIdx.x * tile_size + threadIdx.x, y = blockIdx.y * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += rows)
    tile[(threadIdx.y + j) * pitch + threadIdx.x] = in[(y + j) * size + x];
  __syncthreads();
  const int to_x = blockIdx.y * tile_size + threadIdx.x, to_y = blockIdx.x * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += rows)
    out[(to_y + j) * size + to_x] = tile[threadIdx.x * pitch + threadIdx.y + j];  // fault
}

__global__ void slow(const float* in, float* out, int size) { transpose<tile_size>(in, out, size); }
__global__ void mended(const float* in, float* out, int size) { transpose<tile_size + 1>(in, out, size); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 6144);  // rows of the matrix
  const int size = command.size(tile_size);
  const auto elements = static_cast<std::size_t>(size) * size;
  const example::DeviceArray<float> in(pair::integers<float>(elements, 1 << 16, 1)), out(elements);
  const dim3 grid(size / tile_size, size / tile_size), block(tile_size, rows);
  return command.run(
      "transpose_tile", out, [&] { slow<<<grid, block>>>(in.get(), out.get(), size); },
      [&] { mended<<<grid, block>>>(in.get(), out.get(), size); });
}
