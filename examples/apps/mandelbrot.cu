// mandelbrot: a loop whose trip count differs from lane to lane; 2-D grid, blocks of 32 × 3 = 96 threads,
// ragged borders.
#include <cmath>

#include "example.h"

// Returns the iterations until |z| > 2. Every rounding is explicit, so host and device agree bit by bit.
__host__ __device__ inline int escape_time(float real, float imaginary, int limit) {
  float x = 0.0f, y = 0.0f;
  int count = 0;
  while (count < limit) {
    const float xx = fmaf(x, x, 0.0f);
    const float yy = fmaf(y, y, 0.0f);
    if (fmaf(1.0f, xx, yy) > 4.0f) break;
    y = fmaf(x + x, y, imaginary);
    x = fmaf(1.0f, xx, -yy) + real;
    ++count;
  }
  return count;
}

__host__ __device__ inline float coordinate(int index, float step, float origin) {
  return fmaf(static_cast<float>(index), step, origin);
}

__global__ void mandelbrot(int* counts, int width, int height, float step, int limit) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= width || row >= height) return;
  counts[row * width + column] =
      escape_time(coordinate(column, step, -2.0f), coordinate(row, step, -1.125f), limit);
}

int main(int argc, char** argv) {
  const int width = example::size_argument(argc, argv, 150, 32768);
  const int height = width * 3 / 4 > 0 ? width * 3 / 4 : 1;
  const int limit = 128;
  const float step = 3.0f / static_cast<float>(width);
  example::DeviceArray<int> device_counts(static_cast<std::size_t>(width) * height);

  const dim3 block(32, 3);
  const dim3 grid(example::ceil_div(width, 32), example::ceil_div(height, 3));
  mandelbrot<<<grid, block>>>(device_counts.get(), width, height, step, limit);
  CUDA_CHECK(cudaGetLastError());
  const std::vector<int> counts = device_counts.download();

  bool right = true;
  long long inside = 0;
  const int every = width > 1000 ? 31 : 1;  // the host is slow on large pictures
  for (int row = 0; row < height && right; row += every) {
    for (int column = 0; column < width && right; ++column) {
      const int expected =
          escape_time(coordinate(column, step, -2.0f), coordinate(row, step, -1.125f), limit);
      right = example::same("count", {counts[static_cast<std::size_t>(row) * width + column]},
                            std::vector<int>{expected});
    }
  }
  for (const int count : counts) inside += count == limit;
  std::printf("mandelbrot: %d x %d, %lld points inside\n", width, height, inside);

  example::measure("mandelbrot",
                   [&] { mandelbrot<<<grid, block>>>(device_counts.get(), width, height, step, limit); });
  return example::finish("mandelbrot", right, example::fnv1a(counts));
}
