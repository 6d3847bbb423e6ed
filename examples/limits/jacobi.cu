// A step of Jacobi's method that keeps the tile of results in shared memory, where a word is used once, and
// reads each point from global memory four times. Mended: the tile of the input with its border is in shared
// memory. (The third case study of the GMProf paper.)
#include "examples/limits/pair.h"

constexpr int tile_size = 16;

__device__ float mean_of_four(float left, float right, float up, float down) {
  return ((left + right) + (up + down)) * 0.25f;
}

__global__ void slow(const float* in, float* out, int size) {
  __shared__ float results[tile_size][tile_size];
  const int pitch = size + 2, x = blockIdx.x * tile_size + threadIdx.x,
            y = blockIdx.y * tile_size + threadIdx.y;
  const int at = (y + 1) * pitch + x + 1;
  results[threadIdx.y][threadIdx.x] =
      mean_of_four(in[at - 1], in[at + 1], in[at - pitch], in[at + pitch]);  // fault
  __syncthreads();
  out[y * size + x] = results[threadIdx.y][threadIdx.x];
}

__global__ void mended(const float* in, float* out, int size) {
  __shared__ float values[tile_size + 2][tile_size + 2];
  const int pitch = size + 2, x = blockIdx.x * tile_size + threadIdx.x,
            y = blockIdx.y * tile_size + threadIdx.y;
  const int at = (y + 1) * pitch + x + 1, row = threadIdx.y + 1, column = threadIdx.x + 1;
  values[row][column] = in[at];
  if (column == 1) values[row][0] = in[at - 1];
  if (column == tile_size) values[row][column + 1] = in[at + 1];
  if (row == 1) values[0][column] = in[at - pitch];
  if (row == tile_size) values[row + 1][column] = in[at + pitch];
  __syncthreads();
  out[y * size + x] = mean_of_four(values[row][column - 1], values[row][column + 1], values[row - 1][column],
                                   values[row + 1][column]);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 6144);  // rows of the grid
  const int size = command.size(tile_size);
  const auto pitch = static_cast<std::size_t>(size) + 2;
  const example::DeviceArray<float> in(pair::integers<float>(pitch * pitch, 256, 30));
  const example::DeviceArray<float> out(static_cast<std::size_t>(size) * size);
  const dim3 grid(size / tile_size, size / tile_size), block(tile_size, tile_size);
  return command.run(
      "jacobi", out, [&] { slow<<<grid, block>>>(in.get(), out.get(), size); },
      [&] { mended<<<grid, block>>>(in.get(), out.get(), size); });
}
