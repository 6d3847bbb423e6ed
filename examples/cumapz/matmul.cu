// matmul: C = A * B, tile by tile along k. Fetched matrices: A, B, C, both A and B (steps 0 to 3); both with
// blocks half as wide (4) or half as high (5), with two elements of C per thread (the CuMAPz paper's section
// 6.1). C is accumulated in a register, which is loaded from memory; where C is fetched, it is loaded and
// stored through its tile.
#include "examples/cumapz/benchmark.h"

constexpr int tile_size = 16;

template <int step>
__global__ void matmul(const float* a, const float* b, float* c, int size) {
  constexpr bool has_a = step == 0 || step > 2, has_b = step == 1 || step > 2, has_c = step == 2;
  constexpr bool has_two = step > 3;
  constexpr int right = step == 4 ? tile_size / 2 : 0, down = step == 5 ? tile_size / 2 : 0;
  constexpr int elements = tile_size * tile_size;
  __shared__ float tile_a[has_a ? elements : 1], tile_b[has_b ? elements : 1], tile_c[has_c ? elements : 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * tile_size + ty, col = blockIdx.x * tile_size + tx;
  const int place = ty * tile_size + tx, other = (ty + down) * tile_size + tx + right;
  float sum = 0, sum_of_other = 0;
  if constexpr (has_c) {
    benchmark::write(tile_c[place], c[row * size + col]);
    __syncthreads();
    sum = benchmark::read(tile_c[place]);
  }
  for (int first = 0; first < size; first += tile_size) {
    if constexpr (has_a) benchmark::write(tile_a[place], a[row * size + first + tx]);
    if constexpr (has_b) benchmark::write(tile_b[place], b[(first + ty) * size + col]);
    if constexpr (has_two) {
      benchmark::write(tile_a[other], a[(row + down) * size + first + tx + right]);
      benchmark::write(tile_b[other], b[(first + ty + down) * size + col + right]);
    }
    if constexpr (has_a || has_b) __syncthreads();
    for (int k = 0; k < tile_size; ++k) {
      const float left = has_a ? benchmark::read(tile_a[ty * tile_size + k]) : a[row * size + first + k];
      const float below = has_b ? benchmark::read(tile_b[k * tile_size + tx]) : b[(first + k) * size + col];
      sum += left * below;
      if constexpr (step == 4) sum_of_other += left * benchmark::read(tile_b[k * tile_size + tx + right]);
      if constexpr (step == 5) sum_of_other += benchmark::read(tile_a[(ty + down) * tile_size + k]) * below;
    }
    if constexpr (has_a || has_b) __syncthreads();
  }
  if constexpr (has_c) {
    benchmark::write(tile_c[place], sum);
    sum = benchmark::read(tile_c[place]);
  }
  c[row * size + col] = sum;
  if constexpr (has_two) c[(row + down) * size + col + right] = sum_of_other;
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv, {{"step", 3, 0, 5}, {"N", 64, tile_size, 8192}});
  const int size = parameters["N"] / tile_size * tile_size, step = parameters["step"];
  const auto elements = static_cast<std::size_t>(size) * size;
  const std::vector<float> a = benchmark::small_integers(elements, 16, 3);
  const std::vector<float> b = benchmark::small_integers(elements, 16, 4);
  const example::DeviceArray<float> device_a(a), device_b(b);
  example::DeviceArray<float> c(elements);
  c.clear();
  const dim3 grid(size / tile_size, size / tile_size);
  const dim3 block(step == 4 ? tile_size / 2 : tile_size, step == 5 ? tile_size / 2 : tile_size);
  std::vector<float> result;
  benchmark::with_constant<6>(step, [&](auto chosen) {
    const auto launch = [&] {
      matmul<chosen.value><<<grid, block>>>(device_a.get(), device_b.get(), c.get(), size);
    };
    launch();
    CUDA_CHECK(cudaGetLastError());
    result = c.download();
    benchmark::measure("matmul", launch);
  });
  const bool right = benchmark::check("c", result, size, [&](std::size_t i) {
    const std::size_t row = i / size, col = i % size;
    float sum = 0;
    for (int k = 0; k < size; ++k) sum += a[row * size + k] * b[k * static_cast<std::size_t>(size) + col];
    return sum;
  });
  std::printf("matmul: %s\n", parameters.text().c_str());
  return example::finish("matmul", right, example::fnv1a(result));
}
