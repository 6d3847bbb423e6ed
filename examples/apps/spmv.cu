// spmv: a sparse matrix in CSR form times a vector, one thread a row (loop lengths and addresses depend on
// the data) and one warp a row (shuffles, dynamic shared memory).
#include <cmath>

#include "example.h"

__global__ void spmv_thread_per_row(const int* row_begin, const int* columns, const float* values,
                                    const float* x, float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = row_begin[row]; i < row_begin[row + 1]; ++i) sum = fmaf(values[i], x[columns[i]], sum);
  y[row] = sum;
}

__global__ void spmv_warp_per_row(const int* row_begin, const int* columns, const float* values,
                                  const float* x, float* y, int rows) {
  extern __shared__ float warp_sums[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = blockIdx.x * (blockDim.x / 32) + warp;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = row_begin[row] + lane; i < row_begin[row + 1]; i += 32)
    sum = fmaf(values[i], x[columns[i]], sum);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0) warp_sums[warp] = sum;
  __syncwarp();
  if (lane == 31) y[row] = warp_sums[warp];
}

int main(int argc, char** argv) {
  const int rows = example::size_argument(argc, argv, 2000, 1 << 23);
  example::Random random(6);
  std::vector<int> row_begin(1, 0), columns;
  std::vector<float> values, x(rows);
  for (float& value : x) value = random.unit() - 0.5f;
  for (int row = 0; row < rows; ++row) {
    // Mostly short rows, some empty, some long ones.
    const int length = row % 50 == 7 ? 60 + random.below(40) : random.below(9);
    for (int i = 0; i < length; ++i) {
      columns.push_back(static_cast<int>(random.below(rows)));
      values.push_back(random.unit() - 0.5f);
    }
    row_begin.push_back(static_cast<int>(columns.size()));
  }

  std::vector<float> expected(rows), expected_warp(rows);
  for (int row = 0; row < rows; ++row) {
    float sum = 0.0f, lanes[32] = {};
    for (int i = row_begin[row]; i < row_begin[row + 1]; ++i) {
      sum = std::fmaf(values[i], x[columns[i]], sum);
      float& lane = lanes[(i - row_begin[row]) % 32];
      lane = std::fmaf(values[i], x[columns[i]], lane);
    }
    expected[row] = sum;
    for (int distance = 16; distance > 0; distance /= 2) {
      float next[32];
      for (int lane = 0; lane < 32; ++lane) next[lane] = lanes[lane] + lanes[lane ^ distance];
      for (int lane = 0; lane < 32; ++lane) lanes[lane] = next[lane];
    }
    expected_warp[row] = lanes[31];
  }

  const example::DeviceArray<int> device_rows(row_begin), device_columns(columns);
  const example::DeviceArray<float> device_values(values), device_x(x);
  example::DeviceArray<float> y(rows), y_warp(rows);
  const auto by_thread = [&] {
    spmv_thread_per_row<<<example::ceil_div(rows, 128), 128>>>(
        device_rows.get(), device_columns.get(), device_values.get(), device_x.get(), y.get(), rows);
  };
  const auto by_warp = [&] {
    spmv_warp_per_row<<<example::ceil_div(rows, 3), 96, 3 * sizeof(float)>>>(
        device_rows.get(), device_columns.get(), device_values.get(), device_x.get(), y_warp.get(), rows);
  };
  by_thread();
  by_warp();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<float> result = y.download(), result_warp = y_warp.download();
  bool right = example::same("y by thread", result, expected);
  right = example::same("y by warp", result_warp, expected_warp) && right;
  std::printf("spmv: %d rows, %zu non-zeros\n", rows, values.size());

  example::measure("spmv_thread_per_row", by_thread);
  example::measure("spmv_warp_per_row", by_warp);
  return example::finish("spmv", right, example::fnv1a(result_warp, example::fnv1a(result)));
}
