// A transpose whose stores go to another row in each lane. Mended: through a padded tile in shared memory.
// (Steps 0 and 2 of the CuMAPz paper's transpose.)
#include "examples/limits/pair.h"

constexpr int tile_size = 32, rows = 8;

__global__ void slow(const float* in, float* out, int size) {
  const int x = blockIdx.x * tile_size + threadIdx.x, y = blockIdx.y * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += rows) {
    out[x * size + y + j] = in[(y + j) * size + x];  // fault
  }
}

__global__ void mended(const float* in, float* out, int size) {
  __shared__ float tile[tile_size][tile_size + 1];
  const int x = blockIdx.x * tile_size + threadIdx.x, y = blockIdx.y * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * size + x];
  __syncthreads();
  const int to_x = blockIdx.y * tile_size + threadIdx.x, to_y = blockIdx.x * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += rows)
    out[(to_y + j) * size + to_x] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 4096);  // rows of the matrix
  const int size = command.size(tile_size);
  const auto elements = static_cast<std::size_t>(size) * size;
  const example::DeviceArray<float> in(pair::integers<float>(elements, 1 << 16, 7)), out(elements);
  const dim3 grid(size / tile_size, size / tile_size), block(tile_size, rows);
  return command.run(
      "transpose_global", out, [&] { slow<<<grid, block>>>(in.get(), out.get(), size); },
      [&] { mended<<<grid, block>>>(in.get(), out.get(), size); });
}
