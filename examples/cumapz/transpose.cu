// transpose: matrix transpose, step by step: 0 without shared memory, 1 through a tile, 2 padded, 3
// padded with thread blocks in diagonal order, 4 diagonal, not padded (the CuMAPz paper's section
// 6.1).
#include "examples/cumapz/benchmark.h"

constexpr int tile_size = 32;
constexpr int rows = 8;  // of threads; each processes tile_size / rows elements

template <int step>
__global__ void transpose(const float* in, float* out, int size) {
  constexpr bool is_diagonal = step >= 3;
  constexpr int pitch = tile_size + (step == 2 || step == 3);
  __shared__ float tile[step == 0 ? 1 : tile_size * pitch];
  const int bx = is_diagonal ? (blockIdx.x + blockIdx.y) % gridDim.x : blockIdx.x;
  const int by = is_diagonal ? blockIdx.x : blockIdx.y;
  const int tx = threadIdx.x, ty = threadIdx.y;
  if constexpr (step == 0) {
    for (int j = 0; j < tile_size; j += rows)
      out[(bx * tile_size + tx) * size + by * tile_size + ty + j] =
          in[(by * tile_size + ty + j) * size + bx * tile_size + tx];
  } else {
    for (int j = 0; j < tile_size; j += rows)
      benchmark::write(tile[(ty + j) * pitch + tx],
                       in[(by * tile_size + ty + j) * size + bx * tile_size + tx]);
    __syncthreads();
    for (int j = 0; j < tile_size; j += rows)
      out[(bx * tile_size + ty + j) * size + by * tile_size + tx] =
          benchmark::read(tile[tx * pitch + ty + j]);
  }
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv, {{"step", 2, 0, 4}, {"N", 128, tile_size, 32768}});
  const int size = parameters["N"] / tile_size * tile_size;
  const auto elements = static_cast<std::size_t>(size) * size;
  const std::vector<float> in = benchmark::small_integers(elements, 1 << 16, 5);
  const example::DeviceArray<float> device_in(in), out(elements);
  const dim3 grid(size / tile_size, size / tile_size), block(tile_size, rows);
  bool right = false;
  benchmark::with_constant<5>(parameters["step"], [&](auto step) {
    const auto launch = [&] { transpose<step.value><<<grid, block>>>(device_in.get(), out.get(), size); };
    launch();
    CUDA_CHECK(cudaGetLastError());
    right = benchmark::check("out", out.download(), 1,
                             [&](std::size_t i) { return in[i % size * size + i / size]; });
    benchmark::measure("transpose", launch);
  });
  std::printf("transpose: %s\n", parameters.text().c_str());
  return example::finish("transpose", right, example::fnv1a(out.download()));
}
