// partitions: a tiled transpose whose blocks write to one memory partition at a time, and a version with
// diagonal block order, which writes to all partitions. Based on "Optimizing Matrix Transpose" in NVIDIA's
// SDK.
#include "example.h"

constexpr int tile = 16;

/// Concurrent blocks have neighbouring columns of tiles: they read from neighbouring addresses, but write to
/// one column of tiles, whose rows are a multiple of the width of all partitions apart.
__global__ void transpose_coalesced(const float* in, float* out, int size) {
  __shared__ float values[tile][tile + 1];
  const int column = blockIdx.x * tile, row = blockIdx.y * tile;
  values[threadIdx.y][threadIdx.x] = in[(row + threadIdx.y) * size + column + threadIdx.x];
  __syncthreads();
  out[(column + threadIdx.y) * size + row + threadIdx.x] = values[threadIdx.x][threadIdx.y];
}

/// Neighbouring blocks have neighbouring columns and rows of tiles.
__global__ void transpose_diagonal(const float* in, float* out, int size) {
  __shared__ float values[tile][tile + 1];
  const int column = (blockIdx.x + blockIdx.y) % gridDim.x * tile, row = blockIdx.x * tile;
  values[threadIdx.y][threadIdx.x] = in[(row + threadIdx.y) * size + column + threadIdx.x];
  __syncthreads();
  out[(column + threadIdx.y) * size + row + threadIdx.x] = values[threadIdx.x][threadIdx.y];
}

int main(int argc, char** argv) {
  // A multiple of 512 elements: 8 partitions of 256 bytes.
  const int size = example::size_argument(argc, argv, 1, 64) * 512;
  const std::size_t elements = static_cast<std::size_t>(size) * size;
  example::Random random(6);
  std::vector<float> in(elements), expected(elements);
  for (float& value : in) value = random.unit();
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x)
      expected[static_cast<std::size_t>(x) * size + y] = in[static_cast<std::size_t>(y) * size + x];
  }
  const example::DeviceArray<float> device_in(in);
  const dim3 grid(size / tile, size / tile), block(tile, tile);
  bool right = true;
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
  using Kernel = void (*)(const float*, float*, int);
  const Kernel kernels[] = {transpose_coalesced, transpose_diagonal};
  const char* const names[] = {"transpose_coalesced", "transpose_diagonal"};
  for (int which = 0; which < 2; ++which) {
    example::DeviceArray<float> out(elements);
    out.clear();
    kernels[which]<<<grid, block>>>(device_in.get(), out.get(), size);
    CUDA_CHECK(cudaGetLastError());
    const std::vector<float> result = out.download();
    right = example::same(names[which], result, expected) && right;
    checksum = example::fnv1a(result, checksum);
    std::printf("partitions: %s of %d x %d\n", names[which], size, size);
    example::measure(names[which],
                     [&] { kernels[which]<<<grid, block>>>(device_in.get(), out.get(), size); });
  }
  return example::finish("partitions", right, checksum);
}
