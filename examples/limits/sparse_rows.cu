// A product of a sparse matrix and a vector by one thread per row. Mended: by one warp per row.
#include "examples/limits/pair.h"

constexpr int threads = 256, lanes = 32, entries = 32;

__global__ void slow(const int* column, const int* value, const int* vector, int* out) {
  const int row = blockIdx.x * threads + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < entries; ++k) {
    const int at = row * entries + k;
    sum += value[at] * vector[column[at]];  // fault
  }
  out[row] = sum;
}

__global__ void mended(const int* column, const int* value, const int* vector, int* out) {
  const int row = (blockIdx.x * threads + threadIdx.x) / lanes, at = row * entries + threadIdx.x % lanes;
  int sum = value[at] * vector[column[at]];
  for (int half = lanes / 2; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
  if (threadIdx.x % lanes == 0) out[row] = sum;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 18);  // rows
  const int rows = command.size(threads);
  const std::size_t all = static_cast<std::size_t>(rows) * entries;
  const example::DeviceArray<int> column(pair::integers<int>(all, rows, 80));
  const example::DeviceArray<int> value(pair::integers<int>(all, 100, 81));
  const example::DeviceArray<int> vector(pair::integers<int>(rows, 100, 82)), out(rows);
  return command.run(
      "sparse_rows", out,
      [&] { slow<<<rows / threads, threads>>>(column.get(), value.get(), vector.get(), out.get()); },
      [&] {
        mended<<<rows / threads * lanes, threads>>>(column.get(), value.get(), vector.get(), out.get());
      });
}
