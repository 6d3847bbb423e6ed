// A product of matrices by tiles, one of them transposed in shared memory, so that a warp reads one bank.
// Mended: a padded row.
#include "examples/limits/pair.h"

constexpr int tile = 32;

template <int pitch>
__device__ void multiply(const int* a, const int* b, int* out, int size) {
  __shared__ int left[tile][tile], right[tile][pitch];
  const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  int sum = 0;
  for (int step = 0; step < size; step += tile) {
    left[threadIdx.y][threadIdx.x] = a[row * size + step + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(blockIdx.x * tile + threadIdx.y) * size + step + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < tile; ++k) {
      sum += left[threadIdx.y][k] * right[threadIdx.x][k];  // fault
    }
    __syncthreads();
  }
  out[row * size + column] = sum;
}

__global__ void slow(const int* a, const int* b, int* out, int size) { multiply<tile>(a, b, out, size); }
__global__ void mended(const int* a, const int* b, int* out, int size) {
  multiply<tile + 1>(a, b, out, size);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 384);  // rows
  const int size = command.size(tile);
  const auto elements = static_cast<std::size_t>(size) * size;
  const example::DeviceArray<int> a(pair::integers<int>(elements, 100, 72));
  const example::DeviceArray<int> b(pair::integers<int>(elements, 100, 73)), out(elements);
  const dim3 grid(size / tile, size / tile), block(tile, tile);
  return command.run(
      "tile_product", out, [&] { slow<<<grid, block>>>(a.get(), b.get(), out.get(), size); },
      [&] { mended<<<grid, block>>>(a.get(), b.get(), out.get(), size); });
}
