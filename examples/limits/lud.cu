// The update of the inner tiles in a blocked LU decomposition, by blocks of 4 by 16 threads: bank conflicts
// in the column tile, whose eight rows lie in two banks. Mended: its rows are padded by a word. (CuMAPz's
// benchmark of the same name; its blocks of 16 by 16 also change the work of a thread.)
#include "examples/limits/pair.h"

constexpr int tile_size = 16, width = 4;

template <int pitch>
__device__ void update(const float* m, float* out, int size) {
  __shared__ float row_tile[tile_size][tile_size], column_tile[tile_size][pitch];
  const int ty = threadIdx.y, row = (blockIdx.y + 1) * tile_size + ty, first = (blockIdx.x + 1) * tile_size;
  for (int i = threadIdx.x; i < tile_size; i += width) {
    row_tile[ty][i] = m[ty * size + first + i];
    column_tile[ty][i] = m[row * size + i];
  }
  __syncthreads();
  for (int j = threadIdx.x; j < tile_size; j += width) {
    float sum = 0;
    for (int i = 0; i < tile_size; ++i) sum += column_tile[ty][i] * row_tile[i][j];  // fault
    out[row * size + first + j] = m[row * size + first + j] - sum;
  }
}

__global__ void slow(const float* m, float* out, int size) { update<tile_size>(m, out, size); }
__global__ void mended(const float* m, float* out, int size) { update<tile_size + 1>(m, out, size); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 4096);  // rows of the matrix
  const int size = std::max(command.size(tile_size), 2 * tile_size);
  const auto elements = static_cast<std::size_t>(size) * size;
  const example::DeviceArray<float> m(pair::integers<float>(elements, 64, 29)), out(elements);
  const dim3 grid(size / tile_size - 1, size / tile_size - 1);
  return command.run(
      "lud", out, [&] { slow<<<grid, dim3(width, tile_size)>>>(m.get(), out.get(), size); },
      [&] { mended<<<grid, dim3(width, tile_size)>>>(m.get(), out.get(), size); });
}
