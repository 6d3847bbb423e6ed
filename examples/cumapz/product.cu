// product: each thread multiplies three neighbours of a row (the CuMAPz paper's Figures 1 and 2). Choices:
// which of them is fetched into shared memory (Table I), how the tile is stored (Table II), and how the
// result is written (Table III). scripts/c1060_times compares their modelled times with the paper's.
#include "examples/cumapz/benchmark.h"

constexpr int tile_size = 16;

/// `shift`: the neighbour that is fetched; < 0: none.
template <int shift, bool by_rows, bool padded, bool transposed>
__global__ void product(const float* in, float* out, int size) {
  constexpr int pitch = tile_size + (padded ? 1 : 0);
  __shared__ float tile[shift < 0 ? 1 : tile_size * pitch];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * tile_size + ty, col = blockIdx.x * tile_size + tx;
  const int at = row * size + col;
  const auto place = [&](int x) -> float& { return tile[by_rows ? ty * pitch + x : x * pitch + ty]; };
  if constexpr (shift >= 0) {
    benchmark::write(place(tx), in[at + shift]);
    __syncthreads();
  }
  if (col >= size - 2) return;
  float result = 1;
  for (int neighbour = 0; neighbour < 3; ++neighbour) {
    const int x = tx + neighbour - shift;
    const bool is_in_tile = shift >= 0 && x >= 0 && x < tile_size;
    result *= is_in_tile ? benchmark::read(place(x)) : in[at + neighbour];
  }
  out[transposed ? col * size + row : at] = result;
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv,
                                         {{"shift", 0, -1, 2},
                                          {"rows", 0, 0, 1},
                                          {"padding", 0, 0, 1},
                                          {"transposed", 0, 0, 1},
                                          {"N", 64, tile_size, 16384}});
  const int size = parameters["N"] / tile_size * tile_size;
  const bool transposed = parameters["transposed"] == 1;
  const auto elements = static_cast<std::size_t>(size) * size;
  const std::vector<float> in = benchmark::small_integers(elements + 2, 16, 9);
  const example::DeviceArray<float> device_in(in);
  example::DeviceArray<float> out(elements);
  out.clear();
  const dim3 grid(size / tile_size, size / tile_size), block(tile_size, tile_size);
  const int choice = (parameters["rows"] * 2 + parameters["padding"]) * 2 + parameters["transposed"];
  bool right = false;
  benchmark::with_constant<32>(choice * 4 + parameters["shift"] + 1, [&](auto chosen) {
    constexpr int shift = chosen.value % 4 - 1, layout = chosen.value / 4;
    const auto launch = [&] {
      product<shift, layout / 4 == 1, layout / 2 % 2 == 1, layout % 2 == 1>
          <<<grid, block>>>(device_in.get(), out.get(), size);
    };
    launch();
    CUDA_CHECK(cudaGetLastError());
    right = benchmark::check("out", out.download(), 3, [&](std::size_t i) {
      const std::size_t row = transposed ? i % size : i / size, col = transposed ? i / size : i % size;
      if (col >= static_cast<std::size_t>(size) - 2) return 0.0f;
      const float* const first = in.data() + row * size + col;
      return first[0] * first[1] * first[2];
    });
    benchmark::measure("product", launch);
  });
  std::printf("product: %s\n", parameters.text().c_str());
  return example::finish("product", right, example::fnv1a(out.download()));
}
