// Transposes a matrix through a tile in shared memory, slowly: docs/agents.md.
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int tile = 32, rows = 8;

__global__ void transpose(const float* in, float* out, int size) {
  __shared__ float values[tile][tile];
  const int column = threadIdx.x, row = threadIdx.y;
  for (int step = 0; step < tile; step += rows)
    values[row + step][column] = in[(blockIdx.y * tile + row + step) * size + blockIdx.x * tile + column];
  __syncthreads();
  for (int step = 0; step < tile; step += rows)
    out[(blockIdx.x * tile + row + step) * size + blockIdx.y * tile + column] = values[column][row + step];
}

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) / tile * tile : 512;
  std::vector<float> values(std::size_t(size) * size), result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::size_t bytes = values.size() * sizeof(float);
  float *in = nullptr, *out = nullptr;
  cudaMalloc(&in, bytes);
  cudaMalloc(&out, bytes);
  cudaMemcpy(in, values.data(), bytes, cudaMemcpyHostToDevice);
  transpose<<<dim3(size / tile, size / tile), dim3(tile, rows)>>>(in, out, size);
  cudaMemcpy(result.data(), out, bytes, cudaMemcpyDeviceToHost);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      if (result[x * size + y] != values[y * size + x]) return std::puts("wrong") < 0 ? 2 : 1;
    }
  }
  std::puts("correct");
  return cudaFree(in) == cudaSuccess && cudaFree(out) == cudaSuccess ? 0 : 1;
}
