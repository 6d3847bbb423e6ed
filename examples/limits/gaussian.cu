// A step of Gaussian elimination in tiles of 16 by 16, by blocks of 4 by 16 threads: the lanes of a warp
// access four words in each of eight rows. Mended: blocks of 16 by 16. (CuMAPz's benchmark of the same
// name.)
#include "examples/limits/pair.h"

constexpr int tile_size = 16;

template <int width>
__device__ void eliminate(const float* a, const float* multipliers, float* out, int size) {
  __shared__ float pivot_row[tile_size], multiplier[tile_size];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * tile_size + ty;
  for (int i = tx; i < tile_size; i += width) {
    if (ty == 0) pivot_row[i] = a[blockIdx.x * tile_size + i];
  }
  if (tx == 0) multiplier[ty] = multipliers[row];
  __syncthreads();
  for (int i = tx; i < tile_size; i += width) {
    const int at = row * size + blockIdx.x * tile_size + i;
    out[at] = a[at] - multiplier[ty] * pivot_row[i];  // fault
  }
}

__global__ void slow(const float* a, const float* multipliers, float* out, int size) {
  eliminate<4>(a, multipliers, out, size);
}
__global__ void mended(const float* a, const float* multipliers, float* out, int size) {
  eliminate<16>(a, multipliers, out, size);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 6144);  // rows of the matrix
  const int size = command.size(tile_size);
  const auto elements = static_cast<std::size_t>(size) * size;
  const example::DeviceArray<float> a(pair::integers<float>(elements, 256, 27));
  const example::DeviceArray<float> multipliers(pair::integers<float>(size, 16, 28)), out(elements);
  const dim3 grid(size / tile_size, size / tile_size);
  return command.run(
      "gaussian", out,
      [&] { slow<<<grid, dim3(4, tile_size)>>>(a.get(), multipliers.get(), out.get(), size); },
      [&] { mended<<<grid, dim3(16, tile_size)>>>(a.get(), multipliers.get(), out.get(), size); });
}
