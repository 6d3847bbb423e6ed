// A matrix product whose second factor only goes through shared memory; the first is read again for each
// column. Mended: both go through tiles. (Steps 1 and 3 of the CuMAPz paper's matrix product.)
#include "examples/limits/pair.h"

constexpr int tile_size = 16;

template <bool has_both>
__device__ void multiply(const float* a, const float* b, float* c, int size) {
  __shared__ float tile_a[tile_size][tile_size], tile_b[tile_size][tile_size];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * tile_size + ty, col = blockIdx.x * tile_size + tx;
  float sum = 0;
  for (int first = 0; first < size; first += tile_size) {
    if (has_both) tile_a[ty][tx] = a[row * size + first + tx];
    tile_b[ty][tx] = b[(first + ty) * size + col];
    __syncthreads();
    for (int k = 0; k < tile_size; ++k) {
      if (has_both) {
        sum += tile_a[ty][k] * tile_b[k][tx];
      } else {
        sum += a[row * size + first + k] * tile_b[k][tx];  // fault
      }
    }
    __syncthreads();
  }
  c[row * size + col] = sum;
}

__global__ void slow(const float* a, const float* b, float* c, int size) { multiply<false>(a, b, c, size); }
__global__ void mended(const float* a, const float* b, float* c, int size) { multiply<true>(a, b, c, size); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 768);  // rows of the matrices
  const int size = command.size(tile_size);
  const auto elements = static_cast<std::size_t>(size) * size;
  const example::DeviceArray<float> a(pair::integers<float>(elements, 16, 19)),
      b(pair::integers<float>(elements, 16, 20));
  const example::DeviceArray<float> c(elements);
  const dim3 grid(size / tile_size, size / tile_size), block(tile_size, tile_size);
  return command.run(
      "matrix_product", c, [&] { slow<<<grid, block>>>(a.get(), b.get(), c.get(), size); },
      [&] { mended<<<grid, block>>>(a.get(), b.get(), c.get(), size); });
}
