// jacobi: steps of Jacobi's method for Laplace's equation on a grid with a fixed border: every inner point
// becomes the mean of its four neighbours. A thread block of 16 x 16 iterates over several tiles of 16 x 16,
// so a word of shared memory holds the data of one tile after the other.
//
// jacobi_v1 keeps the result tile in shared memory, where a word is written once and read once per tile; a
// point of `in` is read from device memory by its four neighbours. jacobi_v2 keeps the tile of `in` with a
// halo of one point (without the corners, which are not read): a point comes from device memory once, or
// twice next to another tile, and is read up to four times from shared memory.
#include "example.h"

constexpr int tile = 16;
constexpr int tiles_per_block = 5;
constexpr int steps = 4;

/// A thread's point in a tile: its index in the grid with border, and whether it is an inner point.
struct Point {
  int x, y, place;
  bool inside;
};

__device__ Point point_of_thread(int tile_index, int width, int height) {
  const int across = (width + tile - 1) / tile;
  Point point;
  point.x = tile_index % across * tile + threadIdx.x;
  point.y = tile_index / across * tile + threadIdx.y;
  point.place = (point.y + 1) * (width + 2) + point.x + 1;
  point.inside = point.x < width && point.y < height;
  return point;
}

__host__ __device__ float mean_of_four(float left, float right, float up, float down) {
  return ((left + right) + (up + down)) * 0.25f;
}

__global__ void jacobi_v1(const float* in, float* out, int width, int height, int tiles) {
  __shared__ float results[tile][tile];
  const int pitch = width + 2;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Point point = point_of_thread(index, width, height);
    const float* const from = in + point.place;
    if (point.inside) {
      results[threadIdx.y][threadIdx.x] = mean_of_four(from[-1], from[1], from[-pitch], from[pitch]);
    }
    __syncthreads();
    if (point.inside) out[point.place] = results[threadIdx.y][threadIdx.x];
    __syncthreads();
  }
}

__global__ void jacobi_v2(const float* in, float* out, int width, int height, int tiles) {
  __shared__ float values[tile + 2][tile + 2];
  const int pitch = width + 2;
  const int row = threadIdx.y + 1, column = threadIdx.x + 1;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Point point = point_of_thread(index, width, height);
    const float* const from = in + point.place;
    if (point.inside) {
      values[row][column] = from[0];
      if (column == 1) values[row][0] = from[-1];
      if (column == tile || point.x == width - 1) values[row][column + 1] = from[1];
      if (row == 1) values[0][column] = from[-pitch];
      if (row == tile || point.y == height - 1) values[row + 1][column] = from[pitch];
    }
    __syncthreads();
    if (point.inside) {
      out[point.place] = mean_of_four(values[row][column - 1], values[row][column + 1],
                                      values[row - 1][column], values[row + 1][column]);
    }
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  const int width = example::size_argument(argc, argv, 160, 16384), height = (width * 7 + 9) / 10;
  const int pitch = width + 2;
  const std::size_t elements = static_cast<std::size_t>(pitch) * (height + 2);
  example::Random random(21);
  std::vector<float> start(elements);
  for (float& value : start) value = random.unit();
  std::vector<float> expected = start, next = start;
  for (int step = 0; step < steps; ++step) {
    for (int y = 1; y <= height; ++y) {
      for (int x = 1; x <= width; ++x) {
        const float* const from = &expected[static_cast<std::size_t>(y) * pitch + x];
        next[static_cast<std::size_t>(y) * pitch + x] =
            mean_of_four(from[-1], from[1], from[-pitch], from[pitch]);
      }
    }
    std::swap(expected, next);
  }

  const int tiles = example::ceil_div(width, tile) * example::ceil_div(height, tile);
  const dim3 grid(example::ceil_div(tiles, tiles_per_block)), block(tile, tile);
  bool right = true;
  const auto run = [&](const char* name, void (*kernel)(const float*, float*, int, int, int)) {
    const example::DeviceArray<float> even(start), odd(start);
    for (int step = 0; step < steps; ++step) {
      const bool forward = step % 2 == 0;
      kernel<<<grid, block>>>((forward ? even : odd).get(), (forward ? odd : even).get(), width, height,
                              tiles);
    }
    CUDA_CHECK(cudaGetLastError());
    right = example::same(name, even.download(), expected) && right;
    std::printf("jacobi: %s, %d steps of %d x %d\n", name, steps, width, height);
    example::measure(name, [&] { kernel<<<grid, block>>>(even.get(), odd.get(), width, height, tiles); });
  };
  static_assert(steps % 2 == 0, "the last step writes the grid that the first one read");
  run("jacobi_v1", jacobi_v1);
  run("jacobi_v2", jacobi_v2);
  return example::finish("jacobi", right, example::fnv1a(expected));
}
