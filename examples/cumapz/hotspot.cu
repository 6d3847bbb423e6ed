// hotspot: two time steps of a chip's temperature in one launch, as in Rodinia's hotspot: each block computes
// its tile without a border that widens with each step. Unchanged, with threadIdx.x and threadIdx.y swapped,
// with thread blocks in diagonal order, and with both (the CuMAPz paper's section 6.1).
#include "examples/cumapz/benchmark.h"

constexpr int tile_size = 16;
constexpr int steps = 2;
constexpr int inner = tile_size - 2 * steps;  // final results of a block's tile

__host__ __device__ inline float changed(float here, float power, float down, float up, float right,
                                         float left) {
  return here + 0.25f * (power + (down + up - 2 * here) + (right + left - 2 * here));
}

template <bool switched, bool diagonal>
__global__ void hotspot(const float* power, const float* source, float* result, int size) {
  constexpr int elements = tile_size * tile_size;
  __shared__ float temperature[elements], power_here[elements], next[elements];
  const int bx = diagonal ? (blockIdx.x + blockIdx.y) % gridDim.x : blockIdx.x;
  const int by = diagonal ? blockIdx.x : blockIdx.y;
  const int tx = switched ? threadIdx.y : threadIdx.x, ty = switched ? threadIdx.x : threadIdx.y;
  const int y = inner * by - steps + ty, x = inner * bx - steps + tx;
  const int place = ty * tile_size + tx;
  const bool is_inside = y >= 0 && y < size && x >= 0 && x < size;
  if (is_inside) {
    const float first = source[y * size + x], second = power[y * size + x];
    benchmark::write(temperature[place], first);
    benchmark::write(power_here[place], second);
  }
  __syncthreads();
  for (int i = 1; i <= steps; ++i) {
    const bool computes = tx >= i && tx < tile_size - i && ty >= i && ty < tile_size - i && is_inside;
    if (computes) {
      const float here = benchmark::read(temperature[place]), heat = benchmark::read(power_here[place]);
      const float down = benchmark::read(temperature[y < size - 1 ? place + tile_size : place]);
      const float up = benchmark::read(temperature[y > 0 ? place - tile_size : place]);
      const float right = benchmark::read(temperature[x < size - 1 ? place + 1 : place]);
      const float left = benchmark::read(temperature[x > 0 ? place - 1 : place]);
      benchmark::write(next[place], changed(here, heat, down, up, right, left));
    }
    __syncthreads();
    if (computes && i < steps) benchmark::write(temperature[place], benchmark::read(next[place]));
    if (computes && i == steps) result[y * size + x] = benchmark::read(next[place]);
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv,
                                         {{"switched", 0, 0, 1}, {"diagonal", 0, 0, 1}, {"N", 48, 1, 32768}});
  const int size = parameters["N"];
  const auto elements = static_cast<std::size_t>(size) * size;
  const std::vector<float> power = benchmark::small_integers(elements, 16, 9);
  const std::vector<float> source = benchmark::small_integers(elements, 256, 10);
  const example::DeviceArray<float> device_power(power), device_source(source), result(elements);
  void (*const kernels[])(const float*, const float*, float*, int) = {
      hotspot<false, false>, hotspot<false, true>, hotspot<true, false>, hotspot<true, true>};
  const auto kernel = kernels[2 * parameters["switched"] + parameters["diagonal"]];
  const dim3 grid(example::ceil_div(size, inner), example::ceil_div(size, inner)),
      block(tile_size, tile_size);
  const auto launch = [&] {
    kernel<<<grid, block>>>(device_power.get(), device_source.get(), result.get(), size);
  };
  launch();
  CUDA_CHECK(cudaGetLastError());
  const auto step = [&](const auto& before, int row, int col) {
    const auto at = [&](int y, int x) {
      return before(std::clamp(y, 0, size - 1), std::clamp(x, 0, size - 1));
    };
    return changed(at(row, col), power[static_cast<std::size_t>(row) * size + col], at(row + 1, col),
                   at(row - 1, col), at(row, col + 1), at(row, col - 1));
  };
  const auto first = [&](int y, int x) { return source[static_cast<std::size_t>(y) * size + x]; };
  const auto second = [&](int y, int x) { return step(first, y, x); };
  const bool right = benchmark::check("result", result.download(), 25, [&](std::size_t i) {
    return step(second, static_cast<int>(i / size), static_cast<int>(i % size));
  });
  benchmark::measure("hotspot", launch);
  std::printf("hotspot: %s\n", parameters.text().c_str());
  return example::finish("hotspot", right, example::fnv1a(result.download()));
}
