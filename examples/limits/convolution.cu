// Sums of 5 by 5 neighbours in a plane, all read from global memory. Mended: a block reads its part of the
// plane to shared memory once.
#include "examples/limits/pair.h"

constexpr int width = 32, height = 16, radius = 2, side = 2 * radius + 1;

__global__ void slow(const int* in, int* out, int size) {
  const int pitch = size + 2 * radius, x = blockIdx.x * width + threadIdx.x,
            y = blockIdx.y * height + threadIdx.y;
  int sum = 0;
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column) {
      sum += in[(y + row) * pitch + x + column] * (row * side + column + 1);  // fault
    }
  }
  out[y * size + x] = sum;
}

__global__ void mended(const int* in, int* out, int size) {
  __shared__ int part[height + 2 * radius][width + 2 * radius];
  const int pitch = size + 2 * radius, x = blockIdx.x * width, y = blockIdx.y * height;
  for (int row = threadIdx.y; row < height + 2 * radius; row += height) {
    for (int column = threadIdx.x; column < width + 2 * radius; column += width)
      part[row][column] = in[(y + row) * pitch + x + column];
  }
  __syncthreads();
  int sum = 0;
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column)
      sum += part[threadIdx.y + row][threadIdx.x + column] * (row * side + column + 1);
  }
  out[(y + threadIdx.y) * size + x + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 4096);  // rows
  const int size = command.size(width);
  const auto pitch = static_cast<std::size_t>(size) + 2 * radius;
  const example::DeviceArray<int> in(pair::integers<int>(pitch * pitch, 100, 79));
  const example::DeviceArray<int> out(static_cast<std::size_t>(size) * size);
  const dim3 grid(size / width, size / height), block(width, height);
  return command.run(
      "convolution", out, [&] { slow<<<grid, block>>>(in.get(), out.get(), size); },
      [&] { mended<<<grid, block>>>(in.get(), out.get(), size); });
}
