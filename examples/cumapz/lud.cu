// lud: the kernel of a blocked LU decomposition that updates the inner tiles, as in Rodinia's lud_internal:
// m -= column tile * row tile. Blocks of 16, 8 or 4 by 16, with one, two or four elements of a row per thread
// (the CuMAPz paper's section 6.1).
#include "examples/cumapz/benchmark.h"

constexpr int tile_size = 16;

template <int width>
__global__ void lud(float* m, int size) {
  constexpr int shares = tile_size / width;
  __shared__ float peri_row[tile_size * tile_size], peri_col[tile_size * tile_size];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = (blockIdx.y + 1) * tile_size + ty, first = (blockIdx.x + 1) * tile_size;
  float of_row[shares], of_col[shares];  // all loads before the first use
  for (int i = 0; i < shares; ++i) {
    of_row[i] = m[ty * size + first + tx + i * width];
    of_col[i] = m[row * size + tx + i * width];
  }
  for (int i = 0; i < shares; ++i) {
    benchmark::write(peri_row[ty * tile_size + tx + i * width], of_row[i]);
    benchmark::write(peri_col[ty * tile_size + tx + i * width], of_col[i]);
  }
  __syncthreads();
  for (int j = tx; j < tile_size; j += width) {
    float sum = 0;
    for (int i = 0; i < tile_size; ++i)
      sum += benchmark::read(peri_col[ty * tile_size + i]) * benchmark::read(peri_row[i * tile_size + j]);
    m[row * size + first + j] -= sum;
  }
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv,
                                         {{"threads_in_x", 16, 4, 16}, {"N", 80, 2 * tile_size, 32768}});
  const int size = parameters["N"] / tile_size * tile_size, width = parameters["threads_in_x"];
  const auto elements = static_cast<std::size_t>(size) * size;
  const std::vector<float> before = benchmark::small_integers(elements, 64, 8);
  example::DeviceArray<float> m(before);
  const dim3 grid(size / tile_size - 1, size / tile_size - 1), block(width, tile_size);
  void (*const kernel)(float*, int) = width == 16  ? lud<16>
                                      : width == 8 ? lud<8>
                                      : width == 4 ? lud<4>
                                                   : nullptr;
  if (kernel == nullptr) {
    std::fprintf(stderr, "threads_in_x must be 16, 8 or 4\n");
    return 2;
  }
  const auto launch = [&] { kernel<<<grid, block>>>(m.get(), size); };
  launch();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<float> result = m.download();
  benchmark::measure("lud", launch);
  const bool right = benchmark::check("m", result, tile_size, [&](std::size_t i) {
    const std::size_t row = i / size, col = i % size;
    float value = before[i];
    for (std::size_t k = 0; row >= tile_size && col >= tile_size && k < tile_size; ++k)
      value -= before[row * size + k] * before[k * size + col];
    return value;
  });
  std::printf("lud: %s\n", parameters.text().c_str());
  return example::finish("lud", right, example::fnv1a(result));
}
