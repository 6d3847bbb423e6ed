// gaussian: a step of Gaussian elimination, which subtracts multiples of the pivot row from all rows, with
// buffers for that row, the multipliers and the tile that they update. Blocks of 16 by 16 (step 0), a half
// and a quarter in x (1, 2) and in y (3, 4), with more elements per thread (the CuMAPz paper's section 6.1;
// the kernel is ours).
#include "examples/cumapz/benchmark.h"

constexpr int tile_size = 16;

template <int step>
struct Shape {
  static constexpr int shares = step == 0 ? 1 : step % 2 == 1 ? 2 : 4;  // elements per thread
  static constexpr int right = step == 1 || step == 2 ? tile_size / shares : 0;
  static constexpr int down = step > 2 ? tile_size / shares : 0;
  static constexpr int width = right != 0 ? right : tile_size, height = down != 0 ? down : tile_size;
};

template <int step>
__global__ void gaussian(float* a, const float* multipliers, int size) {
  using Here = Shape<step>;
  __shared__ float pivot_row[tile_size], multiplier[tile_size], tile[tile_size * tile_size];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * tile_size + ty, col = blockIdx.x * tile_size + tx;
  for (int i = 0; i < tile_size; i += Here::width)
    if (ty == 0) benchmark::write(pivot_row[i + tx], a[blockIdx.x * tile_size + i + tx]);
  for (int i = 0; i < tile_size; i += Here::height)
    if (tx == 0) benchmark::write(multiplier[i + ty], multipliers[blockIdx.y * tile_size + i + ty]);
  float fetched[Here::shares];  // all loads before the first use
  for (int i = 0; i < Here::shares; ++i)
    fetched[i] = a[(row + i * Here::down) * size + col + i * Here::right];
  for (int i = 0; i < Here::shares; ++i)
    benchmark::write(tile[(ty + i * Here::down) * tile_size + tx + i * Here::right], fetched[i]);
  __syncthreads();
  for (int i = 0; i < Here::shares; ++i) {
    const int place = (ty + i * Here::down) * tile_size + tx + i * Here::right;
    const float factor = benchmark::read(multiplier[ty + i * Here::down]);
    const float pivot = benchmark::read(pivot_row[tx + i * Here::right]);
    benchmark::write(tile[place], benchmark::read(tile[place]) - factor * pivot);
    a[(row + i * Here::down) * size + col + i * Here::right] = benchmark::read(tile[place]);
  }
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv, {{"step", 0, 0, 4}, {"N", 80, tile_size, 32768}});
  const int size = parameters["N"] / tile_size * tile_size;
  const auto elements = static_cast<std::size_t>(size) * size;
  const std::vector<float> before = benchmark::small_integers(elements, 256, 6);
  std::vector<float> multipliers = benchmark::small_integers(size, 16, 7);
  multipliers[0] = 0;  // the pivot row is unchanged
  example::DeviceArray<float> a(before);
  const example::DeviceArray<float> device_multipliers(multipliers);
  const dim3 grid(size / tile_size, size / tile_size);
  std::vector<float> result;
  benchmark::with_constant<5>(parameters["step"], [&](auto step) {
    const dim3 block(Shape<step.value>::width, Shape<step.value>::height);
    const auto launch = [&] {
      gaussian<step.value><<<grid, block>>>(a.get(), device_multipliers.get(), size);
    };
    launch();
    CUDA_CHECK(cudaGetLastError());
    result = a.download();
    benchmark::measure("gaussian", launch);
  });
  const bool right = benchmark::check(
      "a", result, 2, [&](std::size_t i) { return before[i] - multipliers[i / size] * before[i % size]; });
  std::printf("gaussian: %s\n", parameters.text().c_str());
  return example::finish("gaussian", right, example::fnv1a(result));
}
