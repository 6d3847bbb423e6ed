// matmul: tiled through shared memory with two barriers per step; the matrices' sizes are not multiples of
// the tile, so border tiles are padded and some threads store nothing.
#include <cmath>

#include "example.h"

constexpr int tile = 16;

// result (m × n) = a (m × k) · b (k × n), row-major.
__global__ void matmul_tiled(const float* a, const float* b, float* result, int m, int n, int k) {
  __shared__ float tile_a[tile][tile];
  __shared__ float tile_b[tile][tile + 1];
  const int row = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0f;
  for (int begin = 0; begin < k; begin += tile) {
    const int a_column = begin + threadIdx.x;
    const int b_row = begin + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && a_column < k ? a[row * k + a_column] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = b_row < k && column < n ? b[b_row * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum = fmaf(tile_a[threadIdx.y][i], tile_b[i][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < m && column < n) result[row * n + column] = sum;
}

int main(int argc, char** argv) {
  const int size = example::size_argument(argc, argv, 70, 16384);
  const int m = size, n = size + 5, k = size + 9;
  example::Random random(2);
  std::vector<float> a(static_cast<std::size_t>(m) * k), b(static_cast<std::size_t>(k) * n);
  for (float& value : a) value = random.unit() - 0.5f;
  for (float& value : b) value = random.unit() - 0.5f;

  const example::DeviceArray<float> device_a(a), device_b(b), device_result(static_cast<std::size_t>(m) * n);
  const dim3 grid(example::ceil_div(n, tile), example::ceil_div(m, tile)), block(tile, tile);
  matmul_tiled<<<grid, block>>>(device_a.get(), device_b.get(), device_result.get(), m, n, k);
  CUDA_CHECK(cudaGetLastError());
  const std::vector<float> result = device_result.download();

  // The same fused additions in the same order (the padding adds +0), so all bits are equal. For large sizes,
  // every 97th element is checked.
  bool right = true;
  const std::size_t step = size > 512 ? 97 : 1;
  for (std::size_t at = 0; at < result.size() && right; at += step) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum = std::fmaf(a[at / n * k + i], b[static_cast<std::size_t>(i) * n + at % n], sum);
    right = example::same("result", {result[at]}, std::vector<float>{sum});
  }
  std::printf("matmul: %d x %d by %d x %d\n", m, k, k, n);

  example::measure("matmul_tiled", [&] {
    matmul_tiled<<<grid, block>>>(device_a.get(), device_b.get(), device_result.get(), m, n, k);
  });
  return example::finish("matmul", right, example::fnv1a(result));
}
