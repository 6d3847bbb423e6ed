// stencil: steps of a five-point average, once from global memory with guarded borders and once through a
// tile with a halo in shared memory.
#include "example.h"

constexpr int tile = 16;

__device__ float average(float middle, float left, float right, float up, float down) {
  return __fadd_rn(__fmul_rn(middle, 0.5f),
                   __fmul_rn(__fadd_rn(__fadd_rn(left, right), __fadd_rn(up, down)), 0.125f));
}

__global__ void stencil_global(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  if (x >= width || y >= height) return;
  const int at = y * width + x;
  const float left = x > 0 ? in[at - 1] : 0.0f, right = x + 1 < width ? in[at + 1] : 0.0f;
  const float up = y > 0 ? in[at - width] : 0.0f, down = y + 1 < height ? in[at + width] : 0.0f;
  out[at] = average(in[at], left, right, up, down);
}

__global__ void stencil_tiled(const float* in, float* out, int width, int height) {
  __shared__ float values[tile + 2][tile + 2];
  const int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  for (int row = threadIdx.y; row < tile + 2; row += tile) {
    for (int column = threadIdx.x; column < tile + 2; column += tile) {
      const int from_x = static_cast<int>(blockIdx.x) * tile + column - 1;
      const int from_y = static_cast<int>(blockIdx.y) * tile + row - 1;
      const bool inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
      values[row][column] = inside ? in[from_y * width + from_x] : 0.0f;
    }
  }
  __syncthreads();
  if (x >= width || y >= height) return;
  const int row = threadIdx.y + 1, column = threadIdx.x + 1;
  out[y * width + x] = average(values[row][column], values[row][column - 1], values[row][column + 1],
                               values[row - 1][column], values[row + 1][column]);
}

int main(int argc, char** argv) {
  const int width = example::size_argument(argc, argv, 75, 16384), height = width / 2 + 3;
  const std::size_t elements = static_cast<std::size_t>(width) * height;
  example::Random random(11);
  std::vector<float> in(elements), expected(elements);
  for (float& value : in) value = random.unit();
  const auto at = [&](int x, int y) {
    return x < 0 || x >= width || y < 0 || y >= height ? 0.0f : in[static_cast<std::size_t>(y) * width + x];
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const float around = (at(x - 1, y) + at(x + 1, y)) + (at(x, y - 1) + at(x, y + 1));
      expected[static_cast<std::size_t>(y) * width + x] = at(x, y) * 0.5f + around * 0.125f;
    }
  }
  const example::DeviceArray<float> device_in(in), out(elements);
  const dim3 grid(example::ceil_div(width, tile), example::ceil_div(height, tile)), block(tile, tile);
  bool right = true;
  const auto run = [&](const char* name, void (*kernel)(const float*, float*, int, int)) {
    const auto launch = [&] { kernel<<<grid, block>>>(device_in.get(), out.get(), width, height); };
    launch();
    CUDA_CHECK(cudaGetLastError());
    right = example::same(name, out.download(), expected) && right;
    std::printf("stencil: %s of %d x %d\n", name, width, height);
    example::measure(name, launch);
  };
  run("stencil_global", stencil_global);
  run("stencil_tiled", stencil_tiled);
  return example::finish("stencil", right, example::fnv1a(expected));
}
