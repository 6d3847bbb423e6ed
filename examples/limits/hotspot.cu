// A step of a chip's temperature (Rodinia's hotspot) with threadIdx.x and threadIdx.y swapped, so that the
// lanes of a warp are in 16 rows. Mended: not swapped. (CuMAPz's benchmark of the same name.)
#include "examples/limits/pair.h"

constexpr int tile_size = 16, inner = tile_size - 2;

template <bool is_swapped>
__device__ void step(const float* power, const float* source, float* result, int size) {
  __shared__ float tile[tile_size][tile_size];
  const int tx = is_swapped ? threadIdx.y : threadIdx.x, ty = is_swapped ? threadIdx.x : threadIdx.y;
  const int y = inner * blockIdx.y + ty, x = inner * blockIdx.x + tx;
  float heat = 0;
  if (y < size && x < size) {
    tile[ty][tx] = source[y * size + x];  // fault
    heat = power[y * size + x];           // fault
  }
  __syncthreads();
  if (tx < 1 || tx > inner || ty < 1 || ty > inner || y >= size - 1 || x >= size - 1) return;
  const float here = tile[ty][tx];
  const float around = tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1];
  result[y * size + x] = here + 0.25f * (heat + around - 4 * here);  // fault
}

__global__ void slow(const float* power, const float* source, float* result, int size) {
  step<true>(power, source, result, size);
}
__global__ void mended(const float* power, const float* source, float* result, int size) {
  step<false>(power, source, result, size);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 4096);  // rows of the chip
  const int size = command.size(tile_size);
  const auto elements = static_cast<std::size_t>(size) * size;
  const example::DeviceArray<float> power(pair::integers<float>(elements, 16, 21));
  const example::DeviceArray<float> source(pair::integers<float>(elements, 256, 22)), result(elements);
  const dim3 grid(example::ceil_div(size, inner), example::ceil_div(size, inner)),
      block(tile_size, tile_size);
  return command.run(
      "hotspot", result, [&] { slow<<<grid, block>>>(power.get(), source.get(), result.get(), size); },
      [&] { mended<<<grid, block>>>(power.get(), source.get(), result.get(), size); });
}
