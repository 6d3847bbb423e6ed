// A cooperative kernel whose blocks wait for each other between sparse products: lanes spin at the barrier of
// the grid while others of their warp wait at the block's, and instrumented code calls functions in between.
#include <cooperative_groups.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__device__ void multiply(const int* begins, const int* columns, const float* values, int rows, const float* x,
                         float* y, int thread, int threads) {
  for (int row = thread; row < rows; row += threads) {
    float sum = 0;
    for (int i = begins[row]; i < begins[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
  }
}

__device__ void add(const float* x, float* y, float factor, int rows, int thread, int threads) {
  for (int row = thread; row < rows; row += threads) y[row] = factor * x[row] + y[row];
}

__global__ void iterate(const int* begins, const int* columns, const float* values, float* x, float* y,
                        float* r, int rows) {
  const cg::grid_group grid = cg::this_grid();
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int threads = gridDim.x * blockDim.x;
  multiply(begins, columns, values, rows, x, y, thread, threads);
  cg::sync(grid);
  add(y, r, -1, rows, thread, threads);
  cg::sync(grid);
  multiply(begins, columns, values, rows, r, x, thread, threads);
  cg::sync(grid);
  add(x, r, 2, rows, thread, threads);
}

template <typename T>
T* on_device(const std::vector<T>& values) {
  T* memory = nullptr;
  cudaMalloc(&memory, values.size() * sizeof(T));
  cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return memory;
}

int main() {
  int rows = 1 << 18;
  std::vector<int> begins = {0}, columns;
  std::vector<float> values, x, r(rows);
  for (int row = 0; row < rows; ++row) {
    for (int column = row - 1; column <= row + 1; ++column) {
      if (column < 0 || column >= rows) continue;
      columns.push_back(column);
      values.push_back(static_cast<float>(row % 7 + column % 3));
    }
    begins.push_back(static_cast<int>(columns.size()));
    x.push_back(static_cast<float>(row % 5));
  }
  int *device_begins = on_device(begins), *device_columns = on_device(columns);
  float *device_values = on_device(values), *device_x = on_device(x), *device_y = on_device(r),
        *device_r = on_device(r);
  void* arguments[] = {&device_begins, &device_columns, &device_values, &device_x,
                       &device_y,      &device_r,       &rows};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(iterate), dim3(8), dim3(512), arguments, 0, nullptr);
  const cudaError_t error = cudaMemcpy(r.data(), device_r, rows * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (const float value : r) sum += value;
  std::printf("whole_grid: %s, %.0f\n", cudaGetErrorName(error), sum);
  return error == cudaSuccess ? 0 : 1;
}
