// A step of Gaussian elimination in tiles of 16 by 16, by blocks of 4 by 16 threads: the lanes of a warp
// access four words in each of eight rows. Mended: blocks of 16 by 4, which access 16 words in each of two
// rows. (CuMAPz's benchmark of the same name; its blocks of 16 by 16 also change the work of a thread.)
#include "examples/limits/pair.h"

constexpr int tile_size = 16;

template <int width, int height>
__device__ void eliminate(const float* a, const float* multipliers, float* out, int size) {
  __shared__ float pivot_row[tile_size], multiplier[tile_size];
  const int thread = threadIdx.y * width + threadIdx.x;
  if (thread < tile_size) {
    pivot_row[thread] = a[blockIdx.x * tile_size + thread];
    multiplier[thread] = multipliers[blockIdx.y * tile_size + thread];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < tile_size; y += height) {
    for (int x = threadIdx.x; x < tile_size; x += width) {
      const int at = (blockIdx.y * tile_size + y) * size + blockIdx.x * tile_size + x;
      out[at] = a[at] - multiplier[y] * pivot_row[x];  // fault
    }
  }
}

__global__ void slow(const float* a, const float* multipliers, float* out, int size) {
  eliminate<4, tile_size>(a, multipliers, out, size);
}
__global__ void mended(const float* a, const float* multipliers, float* out, int size) {
  eliminate<tile_size, 4>(a, multipliers, out, size);
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
      [&] { mended<<<grid, dim3(tile_size, 4)>>>(a.get(), multipliers.get(), out.get(), size); });
}
