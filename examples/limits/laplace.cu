// Edge enhancement with the nine neighbours of each element. The upper left one is fetched to a tile in
// shared memory, so that the others often miss the tile and go to global memory. Mended: the middle one.
// (CuMAPz's benchmark of the same name, fetched=0 and fetched=4.)
#include "examples/limits/pair.h"

constexpr int tile_size = 16;

template <int fetched>
__device__ void enhance(const float* in, float* out, int size) {
  __shared__ float tile[tile_size][tile_size];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * tile_size + ty + 1, col = blockIdx.x * tile_size + tx + 1, pitch = size + 2;
  tile[ty][tx] = in[(row + fetched / 3 - 1) * pitch + col + fetched % 3 - 1];
  __syncthreads();
  float middle = 0, around = 0;
#pragma unroll
  for (int reference = 0; reference < 9; ++reference) {
    const int x = tx + reference % 3 - fetched % 3, y = ty + reference / 3 - fetched / 3;
    const bool is_here = x >= 0 && x < tile_size && y >= 0 && y < tile_size;
    float value;
    if (is_here) {
      value = tile[y][x];
    } else {
      value = in[(row + reference / 3 - 1) * pitch + col + reference % 3 - 1];  // fault
    }
    if (reference == 4) middle = value;
    around += value;
  }
  out[(row - 1) * size + col - 1] = 9 * middle - around;
}

__global__ void slow(const float* in, float* out, int size) { enhance<0>(in, out, size); }
__global__ void mended(const float* in, float* out, int size) { enhance<4>(in, out, size); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 4096);  // rows of the image
  const int size = command.size(tile_size);
  const auto pitch = static_cast<std::size_t>(size) + 2;
  const example::DeviceArray<float> in(pair::integers<float>(pitch * pitch, 256, 25));
  const example::DeviceArray<float> out(static_cast<std::size_t>(size) * size);
  const dim3 grid(size / tile_size, size / tile_size), block(tile_size, tile_size);
  return command.run(
      "laplace", out, [&] { slow<<<grid, block>>>(in.get(), out.get(), size); },
      [&] { mended<<<grid, block>>>(in.get(), out.get(), size); });
}
