// transpose: the same result by strided stores and through a padded and an unpadded tile in shared memory:
// three memory access patterns.
#include "example.h"

constexpr int tile = 32;
constexpr int rows = 8;  // a block of 32 × 8 threads moves a tile in four steps

__global__ void transpose_strided(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * tile + threadIdx.x;
  const int y = blockIdx.y * tile + threadIdx.y;
  for (int step = 0; step < tile; step += rows) {
    if (x < width && y + step < height) out[x * height + y + step] = in[(y + step) * width + x];
  }
}

// Padding 0: a tile's columns are in one bank. Padding 1: no conflict.
template <int padding>
__global__ void transpose_tiled(const float* in, float* out, int width, int height) {
  __shared__ float values[tile][tile + padding];
  int x = blockIdx.x * tile + threadIdx.x;
  int y = blockIdx.y * tile + threadIdx.y;
  for (int step = 0; step < tile; step += rows) {
    if (x < width && y + step < height) values[threadIdx.y + step][threadIdx.x] = in[(y + step) * width + x];
  }
  __syncthreads();
  x = blockIdx.y * tile + threadIdx.x;
  y = blockIdx.x * tile + threadIdx.y;
  for (int step = 0; step < tile; step += rows) {
    if (x < height && y + step < width)
      out[(y + step) * height + x] = values[threadIdx.x][threadIdx.y + step];
  }
}

int main(int argc, char** argv) {
  const int size = example::size_argument(argc, argv, 100, 32768);
  const int width = size, height = size + 13;
  const std::size_t elements = static_cast<std::size_t>(width) * height;
  example::Random random(5);
  std::vector<float> in(elements), expected(elements);
  for (float& value : in) value = random.unit();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      expected[static_cast<std::size_t>(x) * height + y] = in[static_cast<std::size_t>(y) * width + x];
    }
  }
  const example::DeviceArray<float> device_in(in);
  const dim3 grid(example::ceil_div(width, tile), example::ceil_div(height, tile)), block(tile, rows);

  bool right = true;
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
  using Kernel = void (*)(const float*, float*, int, int);
  const Kernel kernels[] = {transpose_strided, transpose_tiled<0>, transpose_tiled<1>};
  const char* const names[] = {"transpose_strided", "transpose_tiled_0", "transpose_tiled_1"};
  for (int which = 0; which < 3; ++which) {
    example::DeviceArray<float> out(elements);
    out.clear();
    kernels[which]<<<grid, block>>>(device_in.get(), out.get(), width, height);
    CUDA_CHECK(cudaGetLastError());
    const std::vector<float> result = out.download();
    right = example::same(names[which], result, expected) && right;
    checksum = example::fnv1a(result, checksum);
    std::printf("transpose: %s of %d x %d\n", names[which], width, height);
    example::measure(names[which],
                     [&] { kernels[which]<<<grid, block>>>(device_in.get(), out.get(), width, height); });
  }
  return example::finish("transpose", right, checksum);
}
