// held_out: kernels that no parameter of a model was fitted to. scripts/gpu/held_out.py states the rule by
// which they and their variants were chosen; they are written from the definitions of PolyBench's operations.
//
//   build/release/examples/cumapz/held_out benchmark=1 variant=4 N=256
//
// Kernels over two dimensions: 0 thread blocks of 32 x 8 threads as in PolyBench/GPU, 1 of 16 x 16, 2 of 8 x
// 32, 3 of 32 x 8 with x and y exchanged, 4 of 16 x 16 with the data that a block reads repeatedly in shared
// memory. Products of a matrix and a vector with a thread per row: 0 blocks of 256 threads, 1 of 64, 2 with
// the vector in shared memory, 3 with tiles of the matrices there, 4 the same, padded. With a thread per
// column: 0 blocks of 256 threads, 1 of 64, 2 of 32, 3 with the vector in shared memory.
#include "examples/cumapz/benchmark.h"

constexpr int side = 16;  // of tiles
enum Benchmark { conv2d, product, conv3d, by_row, by_column, correlation, fdtd, two_by_row, benchmarks };

struct Cell {
  int row, column;
};

template <int variant>
__host__ __device__ constexpr int width() {
  return variant == 0 || variant == 3 ? 32 : variant == 2 ? 8 : side;
}
template <int variant>
__host__ __device__ constexpr int height() {
  return 256 / width<variant>();
}

/// Returns the cell of a thread; variant 3 exchanges rows and columns.
template <int variant>
__device__ Cell cell() {
  const int x = static_cast<int>(blockIdx.x) * width<variant>() + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * height<variant>() + static_cast<int>(threadIdx.y);
  return variant == 3 ? Cell{x, y} : Cell{y, x};
}

/// Element (down, right) from the thread's own, from the tile if it is there.
template <bool is_staged, int down, int right>
__device__ float around(const float* plane, const float* tile, int at, int size) {
  const int x = static_cast<int>(threadIdx.x) + right, y = static_cast<int>(threadIdx.y) + down;
  if (is_staged && x >= 0 && x < side && y >= 0 && y < side) return benchmark::read(tile[y * side + x]);
  return plane[at + down * size + right];
}

template <int variant>
__global__ void conv2d_kernel(const float* in, float* out, int size) {
  __shared__ float tile[variant == 4 ? side * side : 1];
  const Cell here = cell<variant>();
  const int at = here.row * size + here.column;
  if constexpr (variant == 4) {
    benchmark::write(tile[threadIdx.y * side + threadIdx.x], in[at]);
    __syncthreads();
  }
  if (here.row == 0 || here.row >= size - 1 || here.column == 0 || here.column >= size - 1) return;
  constexpr bool is_staged = variant == 4;
  out[at] =
      2 * around<is_staged, -1, -1>(in, tile, at, size) - 3 * around<is_staged, 0, -1>(in, tile, at, size) +
      4 * around<is_staged, 1, -1>(in, tile, at, size) + 5 * around<is_staged, -1, 0>(in, tile, at, size) +
      6 * around<is_staged, 0, 0>(in, tile, at, size) + 7 * around<is_staged, 1, 0>(in, tile, at, size) -
      8 * around<is_staged, -1, 1>(in, tile, at, size) - 9 * around<is_staged, 0, 1>(in, tile, at, size) +
      2 * around<is_staged, 1, 1>(in, tile, at, size);
}

template <int variant>
__global__ void conv3d_kernel(const float* in, float* out, int size) {
  __shared__ float tile[variant == 4 ? side * side : 1];
  const Cell here = cell<variant>();
  const int plane = size * size, at = static_cast<int>(blockIdx.z) * plane + here.row * size + here.column;
  if constexpr (variant == 4) {
    benchmark::write(tile[threadIdx.y * side + threadIdx.x], in[at]);
    __syncthreads();
  }
  const int depth = static_cast<int>(blockIdx.z);
  if (here.row == 0 || here.row >= size - 1 || here.column == 0 || here.column >= size - 1 || depth == 0 ||
      depth == size - 1)
    return;
  constexpr bool is_staged = variant == 4;
  float sum = 5 * around<is_staged, -1, 0>(in, tile, at, size) +
              6 * around<is_staged, 0, 0>(in, tile, at, size) +
              7 * around<is_staged, 1, 0>(in, tile, at, size);
  for (const float* other : {in - plane, in + plane}) {
    sum += 2 * around<false, -1, -1>(other, tile, at, size) + 3 * around<false, -1, 1>(other, tile, at, size);
    sum += 4 * around<false, 0, 1>(other, tile, at, size) - 8 * around<false, 1, 1>(other, tile, at, size);
  }
  out[at] = sum;
}

/// out = A B, or A^T A if `is_transposed`.
template <int variant, bool is_transposed>
__global__ void product_kernel(const float* a, const float* b, float* out, int size) {
  const Cell here = cell<variant>();
  const auto left = [&](int k) { return is_transposed ? a[k * size + here.row] : a[here.row * size + k]; };
  float sum = 0;
  if constexpr (variant == 4) {
    __shared__ float rows[side * side], columns[side * side];
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const int first_row = static_cast<int>(blockIdx.y) * side;
    for (int from = 0; from < size; from += side) {
      benchmark::write(rows[y * side + x],
                       is_transposed ? a[(from + y) * size + first_row + x] : a[here.row * size + from + x]);
      benchmark::write(columns[y * side + x], b[(from + y) * size + here.column]);
      __syncthreads();
      for (int k = 0; k < side; ++k)
        sum += benchmark::read(is_transposed ? rows[k * side + y] : rows[y * side + k]) *
               benchmark::read(columns[k * side + x]);
      __syncthreads();
    }
  } else {
    for (int k = 0; k < size; ++k) sum += left(k) * b[k * size + here.column];
  }
  out[here.row * size + here.column] = sum;
}

/// The magnetic field of FDTD-2D: `fields` are ex, ey and hz.
template <int variant>
__global__ void fdtd_kernel(const float* fields, float* out, int size) {
  const Cell here = cell<variant>();
  if (here.row >= size - 1 || here.column >= size - 1) return;
  const int at = here.row * size + here.column, all = size * size;
  const float *const ex = fields, *const ey = fields + all, *const hz = fields + 2 * all;
  out[at] = hz[at] - 7 * (ex[at + 1] - ex[at] + ey[at + size] - ey[at]);
}

/// The same with ex and ey in shared memory.
template <>
__global__ void fdtd_kernel<4>(const float* fields, float* out, int size) {
  __shared__ float of_ex[side * side], of_ey[side * side];
  const Cell here = cell<4>();
  const int at = here.row * size + here.column, all = size * size;
  const float *const ex = fields, *const ey = fields + all, *const hz = fields + 2 * all;
  const int own = static_cast<int>(threadIdx.y * side + threadIdx.x);
  benchmark::write(of_ex[own], ex[at]);
  benchmark::write(of_ey[own], ey[at]);
  __syncthreads();
  if (here.row >= size - 1 || here.column >= size - 1) return;
  out[at] = hz[at] - 7 * (around<true, 0, 1>(ex, of_ex, at, size) - benchmark::read(of_ex[own]) +
                          around<true, 1, 0>(ey, of_ey, at, size) - benchmark::read(of_ey[own]));
}

constexpr int tile_rows = 128, tile_columns = 32;

/// out = 2 A x, or 2 A x + 3 B x with two matrices, one after the other in `a`.
template <int variant, int matrices>
__global__ void row_kernel(const float* a, const float* x, float* out, int size) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), all = size * size;
  float sum = 0, second = 0;
  if constexpr (variant <= 1) {
    for (int k = 0; k < size; ++k) {
      sum += a[row * size + k] * x[k];
      if (matrices == 2) second += a[all + row * size + k] * x[k];
    }
  } else if constexpr (variant == 2) {
    __shared__ float part[256];
    for (int from = 0; from < size; from += 256) {
      benchmark::write(part[threadIdx.x], x[from + threadIdx.x]);
      __syncthreads();
      for (int k = 0; k < 256; ++k) {
        const float factor = benchmark::read(part[k]);
        sum += a[row * size + from + k] * factor;
        if (matrices == 2) second += a[all + row * size + from + k] * factor;
      }
      __syncthreads();
    }
  } else {
    constexpr int pitch = tile_columns + (variant == 4);
    __shared__ float tile[matrices * tile_rows * pitch];
    const int lane = static_cast<int>(threadIdx.x) % tile_columns,
              first = static_cast<int>(threadIdx.x) / tile_columns;
    const int first_row = static_cast<int>(blockIdx.x) * tile_rows;
    for (int from = 0; from < size; from += tile_columns) {
      for (int y = first; y < tile_rows; y += tile_rows / tile_columns) {
        for (int i = 0; i < matrices; ++i)
          benchmark::write(tile[(i * tile_rows + y) * pitch + lane],
                           a[i * all + (first_row + y) * size + from + lane]);
      }
      __syncthreads();
      for (int k = 0; k < tile_columns; ++k) {
        const float factor = x[from + k];
        sum += benchmark::read(tile[threadIdx.x * pitch + k]) * factor;
        if (matrices == 2) second += benchmark::read(tile[(tile_rows + threadIdx.x) * pitch + k]) * factor;
      }
      __syncthreads();
    }
  }
  out[row] = 2 * sum + 3 * second;
}

/// out = A^T x
template <int variant>
__global__ void column_kernel(const float* a, const float* x, float* out, int size) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float sum = 0;
  if constexpr (variant == 3) {
    __shared__ float part[256];
    for (int from = 0; from < size; from += 256) {
      benchmark::write(part[threadIdx.x], x[from + threadIdx.x]);
      __syncthreads();
      for (int k = 0; k < 256; ++k) sum += a[(from + k) * size + column] * benchmark::read(part[k]);
      __syncthreads();
    }
  } else {
    for (int k = 0; k < size; ++k) sum += a[k * size + column] * x[k];
  }
  out[column] = sum;
}

struct Data {
  const float *first, *second;
  float* out;
  int size;
};

template <int variant>
void launch(int which, const Data& data) {
  const int size = data.size;
  const dim3 grid(size / width<variant>(), size / height<variant>()), deep(grid.x, grid.y, size);
  const dim3 block(width<variant>(), height<variant>());
  constexpr int row_threads = variant == 1 ? 64 : variant >= 3 ? tile_rows : 256;
  constexpr int column_threads = variant == 1 ? 64 : variant == 2 ? 32 : 256;
  switch (which) {
    case conv2d: return conv2d_kernel<variant><<<grid, block>>>(data.first, data.out, size);
    case conv3d: return conv3d_kernel<variant><<<deep, block>>>(data.first, data.out, size);
    case product:
      return product_kernel<variant, false><<<grid, block>>>(data.first, data.second, data.out, size);
    case correlation:
      return product_kernel<variant, true><<<grid, block>>>(data.first, data.first, data.out, size);
    case fdtd: return fdtd_kernel<variant><<<grid, block>>>(data.first, data.out, size);
    case by_row:
      return row_kernel<variant, 1>
          <<<size / row_threads, row_threads>>>(data.first, data.second, data.out, size);
    case two_by_row:
      return row_kernel<variant, 2>
          <<<size / row_threads, row_threads>>>(data.first, data.second, data.out, size);
    default:
      return column_kernel<variant>
          <<<size / column_threads, column_threads>>>(data.first, data.second, data.out, size);
  }
}

/// Returns an element of the result, computed on the host.
float expected(int which, const std::vector<float>& a, const std::vector<float>& b, int size, std::size_t i) {
  const auto n = static_cast<std::size_t>(size), all = n * n;
  const std::size_t row = i / n % n, column = i % n, depth = i / all;
  const auto inside = [&](std::size_t index) { return index > 0 && index < n - 1; };
  const auto near = [&](int deep, int down, int right) {
    return a[i + static_cast<std::size_t>(deep) * all + static_cast<std::size_t>(down) * n +
             static_cast<std::size_t>(right)];
  };
  float sum = 0;
  switch (which) {
    case conv2d:
      if (!inside(row) || !inside(column)) return 0;
      return 2 * near(0, -1, -1) - 3 * near(0, 0, -1) + 4 * near(0, 1, -1) + 5 * near(0, -1, 0) +
             6 * near(0, 0, 0) + 7 * near(0, 1, 0) - 8 * near(0, -1, 1) - 9 * near(0, 0, 1) +
             2 * near(0, 1, 1);
    case conv3d:
      if (!inside(row) || !inside(column) || !inside(depth)) return 0;
      for (const int deep : {-1, 1})
        sum += 2 * near(deep, -1, -1) + 3 * near(deep, -1, 1) + 4 * near(deep, 0, 1) - 8 * near(deep, 1, 1);
      return sum + 5 * near(0, -1, 0) + 6 * near(0, 0, 0) + 7 * near(0, 1, 0);
    case fdtd:
      if (row == n - 1 || column == n - 1) return 0;
      return a[2 * all + i] - 7 * (a[i + 1] - a[i] + a[all + i + n] - a[all + i]);
    default: break;
  }
  for (std::size_t k = 0; k < n; ++k) {
    if (which == product) sum += a[row * n + k] * b[k * n + column];
    if (which == correlation) sum += a[k * n + row] * a[k * n + column];
    if (which == by_row) sum += 2 * a[i * n + k] * b[k];
    if (which == two_by_row) sum += 2 * a[i * n + k] * b[k] + 3 * a[all + i * n + k] * b[k];
    if (which == by_column) sum += a[k * n + i] * b[k];
  }
  return sum;
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(
      argc, argv, {{"benchmark", 0, 0, benchmarks - 1}, {"variant", 0, 0, 4}, {"N", 256, 32, 16384}});
  const int which = parameters["benchmark"], variant = parameters["variant"];
  const bool is_vector = which == by_row || which == by_column || which == two_by_row;
  const int unit = is_vector ? 256 : 32, size = std::max(parameters["N"] / unit, 1) * unit;
  const auto n = static_cast<std::size_t>(size), all = n * n;
  const std::size_t inputs = all * (which == conv3d ? n : which == fdtd ? 3 : which == two_by_row ? 2 : 1);
  const std::vector<float> first = benchmark::small_integers(inputs, 4, 20);
  const std::vector<float> second = benchmark::small_integers(which == product ? all
                                                              : is_vector      ? n
                                                                               : 1,
                                                              4, 21);
  const example::DeviceArray<float> device_first(first), device_second(second);
  example::DeviceArray<float> out(is_vector ? n : which == conv3d ? all * n : all);
  out.clear();
  const Data data{device_first.get(), device_second.get(), out.get(), size};
  const auto run = [&] {
    benchmark::with_constant<5>(variant, [&](auto chosen) { launch<chosen.value>(which, data); });
  };
  run();
  CUDA_CHECK(cudaGetLastError());
  const bool has_sum = which == product || which == correlation || is_vector;
  const bool right = benchmark::check("out", out.download(), has_sum ? n : 11,
                                      [&](std::size_t i) { return expected(which, first, second, size, i); });
  benchmark::measure("held_out", run);
  std::printf("held_out: %s\n", parameters.text().c_str());
  return example::finish("held_out", right, example::fnv1a(out.download()));
}
