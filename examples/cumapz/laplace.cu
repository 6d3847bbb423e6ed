// laplace: edge enhancement with nine neighbours of each element; one reference is fetched, and its tile
// serves all accesses that it contains (the CuMAPz paper's section 6.1, written as in its Figure 2).
#include "examples/cumapz/benchmark.h"

constexpr int tile_size = 16;

/// Returns the neighbour `reference`, from the tile if the reference `fetched` has loaded it.
template <int fetched, int reference>
__device__ float neighbour(const float* in, const float* tile, int at, int size) {
  constexpr int right = reference % 3 - fetched % 3, down = reference / 3 - fetched / 3;
  const int x = static_cast<int>(threadIdx.x) + right, y = static_cast<int>(threadIdx.y) + down;
  if (x >= 0 && x < tile_size && y >= 0 && y < tile_size) return benchmark::read(tile[y * tile_size + x]);
  return in[at + (reference / 3 - 1) * size + reference % 3 - 1];
}

template <int fetched>
__global__ void laplace(const float* in, float* out, int size) {
  __shared__ float tile[tile_size * tile_size];
  const int row = blockIdx.y * tile_size + threadIdx.y, col = blockIdx.x * tile_size + threadIdx.x;
  const int at = row * size + col;
  benchmark::write(tile[threadIdx.y * tile_size + threadIdx.x],
                   in[at + (fetched / 3 - 1) * size + fetched % 3 - 1]);
  __syncthreads();
  if (row > 0 && row < size - 1 && col > 0 && col < size - 1) {
    float around = neighbour<fetched, 0>(in, tile, at, size);
    around += neighbour<fetched, 1>(in, tile, at, size);
    around += neighbour<fetched, 2>(in, tile, at, size);
    around += neighbour<fetched, 3>(in, tile, at, size);
    const float middle = neighbour<fetched, 4>(in, tile, at, size);
    around += neighbour<fetched, 5>(in, tile, at, size);
    around += neighbour<fetched, 6>(in, tile, at, size);
    around += neighbour<fetched, 7>(in, tile, at, size);
    around += neighbour<fetched, 8>(in, tile, at, size);
    out[at] = 8 * middle - around;
  }
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv, {{"fetched", 4, 0, 8}, {"N", 64, tile_size, 16384}});
  const int size = parameters["N"] / tile_size * tile_size;
  const auto elements = static_cast<std::size_t>(size) * size;
  // Data fetched outside of the matrix need memory, too; the matrix starts at a multiple of the width of all
  // channels.
  const std::size_t margin = (static_cast<std::size_t>(size) / 1024 + 2) * 1024;
  const std::vector<float> in = benchmark::small_integers(elements + 2 * margin, 256, 1);
  const example::DeviceArray<float> device_in(in);
  example::DeviceArray<float> out(elements);
  out.clear();
  const dim3 grid(size / tile_size, size / tile_size), block(tile_size, tile_size);
  bool right = false;
  benchmark::with_constant<9>(parameters["fetched"], [&](auto fetched) {
    const auto launch = [&] {
      laplace<fetched.value><<<grid, block>>>(device_in.get() + margin, out.get(), size);
    };
    launch();
    CUDA_CHECK(cudaGetLastError());
    right = benchmark::check("out", out.download(), 9, [&](std::size_t i) {
      const auto row = static_cast<int>(i / size), col = static_cast<int>(i % size);
      if (row == 0 || row == size - 1 || col == 0 || col == size - 1) return 0.0f;
      float sum = 9 * in[margin + i];
      for (int y = -1; y <= 1; ++y) {
        for (int x = -1; x <= 1; ++x) sum -= in[margin + i + static_cast<std::ptrdiff_t>(y) * size + x];
      }
      return sum;
    });
    benchmark::measure("laplace", launch);
  });
  std::printf("laplace: %s\n", parameters.text().c_str());
  return example::finish("laplace", right, example::fnv1a(out.download()));
}
