// spmv: a sparse matrix in CSR form times a vector, with one thread per row (trip counts and addresses depend
// on the data), one warp per row (shuffles, dynamic shared memory), and half a warp per row with the sums in
// shared memory.
//
// spmv_shared iterates over groups of `rows_per_group` rows. Shared memory holds the beginnings of the
// group's rows, read by all threads of two rows, and each thread's sum, which a tree adds up.
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

constexpr int lanes_per_row = 16;
constexpr int rows_per_group = 8;
constexpr int groups_per_block = 5;

__global__ void spmv_shared(const int* row_begin, const int* columns, const float* values, const float* x,
                            float* y, int rows) {
  __shared__ int begins[rows_per_group + 1];
  __shared__ float sums[rows_per_group][lanes_per_row];
  const int place = threadIdx.x / lanes_per_row, lane = threadIdx.x % lanes_per_row;
  for (int first = blockIdx.x * rows_per_group; first < rows; first += gridDim.x * rows_per_group) {
    const int begin = first + threadIdx.x, row = first + place;
    if (threadIdx.x <= rows_per_group && begin <= rows) begins[threadIdx.x] = row_begin[begin];
    __syncthreads();
    float sum = 0.0f;
    if (row < rows) {
      const int end = begins[place + 1];
      for (int i = begins[place] + lane; i < end; i += lanes_per_row)
        sum = fmaf(values[i], x[columns[i]], sum);
    }
    sums[place][lane] = sum;
    for (int distance = lanes_per_row / 2; distance > 0; distance /= 2) {
      __syncwarp();
      if (lane < distance) sums[place][lane] += sums[place][lane + distance];
    }
    __syncthreads();
    if (lane == 0 && row < rows) y[row] = sums[place][0];
    __syncthreads();
  }
}

/// Adds up a row like a tree over `lanes` lanes, by shuffles or in shared memory: the order is the same.
float row_on_host(const std::vector<int>& row_begin, const std::vector<int>& columns,
                  const std::vector<float>& values, const std::vector<float>& x, int row, int lanes) {
  std::vector<float> sums(lanes);
  for (int i = row_begin[row]; i < row_begin[row + 1]; ++i) {
    float& sum = sums[(i - row_begin[row]) % lanes];
    sum = std::fmaf(values[i], x[columns[i]], sum);
  }
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    for (int lane = 0; lane < distance; ++lane) sums[lane] += sums[lane + distance];
  }
  return sums[0];
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

  std::vector<float> expected(rows), expected_warp(rows), expected_shared(rows);
  for (int row = 0; row < rows; ++row) {
    expected[row] = row_on_host(row_begin, columns, values, x, row, 1);
    expected_warp[row] = row_on_host(row_begin, columns, values, x, row, 32);
    expected_shared[row] = row_on_host(row_begin, columns, values, x, row, lanes_per_row);
  }

  const example::DeviceArray<int> device_rows(row_begin), device_columns(columns);
  const example::DeviceArray<float> device_values(values), device_x(x);
  example::DeviceArray<float> y(rows), y_warp(rows), y_shared(rows);
  const auto by_thread = [&] {
    spmv_thread_per_row<<<example::ceil_div(rows, 128), 128>>>(
        device_rows.get(), device_columns.get(), device_values.get(), device_x.get(), y.get(), rows);
  };
  const auto by_warp = [&] {
    spmv_warp_per_row<<<example::ceil_div(rows, 3), 96, 3 * sizeof(float)>>>(
        device_rows.get(), device_columns.get(), device_values.get(), device_x.get(), y_warp.get(), rows);
  };
  const int groups = example::ceil_div(rows, rows_per_group);
  const auto in_shared = [&] {
    spmv_shared<<<example::ceil_div(groups, groups_per_block), rows_per_group * lanes_per_row>>>(
        device_rows.get(), device_columns.get(), device_values.get(), device_x.get(), y_shared.get(), rows);
  };
  by_thread();
  by_warp();
  in_shared();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<float> result = y.download(), result_warp = y_warp.download(),
                           result_shared = y_shared.download();
  bool right = example::same("y by thread", result, expected);
  right = example::same("y by warp", result_warp, expected_warp) && right;
  right = example::same("y in shared memory", result_shared, expected_shared) && right;
  std::printf("spmv: %d rows, %zu non-zeros\n", rows, values.size());

  example::measure("spmv_thread_per_row", by_thread);
  example::measure("spmv_warp_per_row", by_warp);
  example::measure("spmv_shared", in_shared);
  const std::uint64_t checksum = example::fnv1a(result_warp, example::fnv1a(result));
  return example::finish("spmv", right, example::fnv1a(result_shared, checksum));
}
