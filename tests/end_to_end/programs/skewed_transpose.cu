// A tiled transpose from which camping is removed step by step (band_test.py, scripts/gpu/calibrate.py).
//
// usage: skewed_transpose SIZE SKEW
// SIZE: size of the matrix in units of 512 elements, which span all partitions of compute capability 1.3.
// Blocks that run concurrently write to SKEW rows of tiles, each 64 bytes after the previous one: to one
// partition with up to 4 rows, to two with 8, to four with 16 and to all eight with 32. Reads are spread for
// any SKEW.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t status = (call);                                     \
    if (status != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
      std::exit(2);                                                        \
    }                                                                      \
  } while (false)

constexpr int tile = 16;

__global__ void skewed_transpose(const float* in, float* out, int size, int skew) {
  __shared__ float values[tile][tile + 1];
  const int column = blockIdx.x * tile, row = (blockIdx.y + blockIdx.x % skew) % gridDim.y * tile;
  values[threadIdx.y][threadIdx.x] = in[(row + threadIdx.y) * size + column + threadIdx.x];
  __syncthreads();
  out[(column + threadIdx.y) * size + row + threadIdx.x] = values[threadIdx.x][threadIdx.y];
}

int main(int argc, char** argv) {
  const int size = (argc > 1 ? std::atoi(argv[1]) : 2) * 512, skew = argc > 2 ? std::atoi(argv[2]) : 1;
  if (size < 512 || size > 64 * 512 || skew < 1 || skew > size / tile) {
    std::fprintf(stderr, "usage: skewed_transpose SIZE SKEW\n");
    return 2;
  }
  const std::size_t elements = static_cast<std::size_t>(size) * size;
  std::vector<float> in(elements), found(elements);
  for (std::size_t i = 0; i < elements; ++i) in[i] = static_cast<float>(i % 4093);
  float *device_in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&device_in, elements * sizeof(float)));
  CHECK(cudaMalloc(&out, elements * sizeof(float)));
  CHECK(cudaMemcpy(device_in, in.data(), elements * sizeof(float), cudaMemcpyHostToDevice));
  skewed_transpose<<<dim3(size / tile, size / tile), dim3(tile, tile)>>>(device_in, out, size, skew);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(found.data(), out, elements * sizeof(float), cudaMemcpyDeviceToHost));
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      if (found[static_cast<std::size_t>(x) * size + y] != in[static_cast<std::size_t>(y) * size + x])
        return 1;
    }
  }
  std::printf("skewed_transpose: ok, %d rows of tiles at a time\n", skew);
  return 0;
}
