// A matrix times a vector, one row per thread of a matrix that is stored row by row. Mended: stored column
// by column, so that neighbouring lanes read neighbouring words.
#include "examples/limits/pair.h"

constexpr int threads = 128, columns = 256;

__global__ void slow(const float* matrix, const float* vector, float* out) {
  const int row = blockIdx.x * threads + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < columns; ++k) {
    sum += matrix[static_cast<std::size_t>(row) * columns + k] * vector[k];  // fault
  }
  out[row] = sum;
}

__global__ void mended(const float* matrix, const float* vector, float* out) {
  const int row = blockIdx.x * threads + threadIdx.x, rows = gridDim.x * threads;
  float sum = 0;
  for (int k = 0; k < columns; ++k) sum += matrix[static_cast<std::size_t>(k) * rows + row] * vector[k];
  out[row] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 16);  // rows
  const int rows = command.size(threads);
  const auto by_rows = pair::integers<float>(static_cast<std::size_t>(rows) * columns, 16, 10);
  std::vector<float> by_columns(by_rows.size());
  for (std::size_t i = 0; i < by_rows.size(); ++i) by_columns[i % columns * rows + i / columns] = by_rows[i];
  const example::DeviceArray<float> slow_matrix(by_rows), mended_matrix(by_columns);
  const example::DeviceArray<float> vector(pair::integers<float>(columns, 16, 11)), out(rows);
  return command.run(
      "matrix_vector", out,
      [&] { slow<<<rows / threads, threads>>>(slow_matrix.get(), vector.get(), out.get()); },
      [&] { mended<<<rows / threads, threads>>>(mended_matrix.get(), vector.get(), out.get()); });
}
