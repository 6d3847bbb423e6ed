// Primitives on matrices, our own code by published algorithms: the transpose's steps (Ruetsch and
// Micikevicius, 2009), a sparse matrix times a vector by a thread or a warp per row (Bell and Garland, 2008;
// CUDPP), products in tiles, and a stencil with a halo in shared memory (ArrayFire).
#include "examples/primitives/references.h"

namespace {

using primitives::Device;
using primitives::Problem;
using primitives::Trial;
using primitives::Value;
using primitives::Values;

constexpr unsigned side = 16;  // of a tile
constexpr unsigned block_threads = 256;
constexpr unsigned warp_threads = 32;

unsigned parts(std::size_t items, unsigned size) { return static_cast<unsigned>((items + size - 1) / size); }

/// The rows of the largest square matrix that the values fill.
unsigned rows_of(const Problem& problem) {
  return static_cast<unsigned>(std::sqrt(static_cast<double>(problem.values.size())));
}

using MatrixKernel = void (*)(const Value* in, Value* out, unsigned rows);

/// Runs the kernel on a square matrix, a thread per element.
template <typename Reference>
void run_matrix(MatrixKernel kernel, const Problem& problem, Trial& trial, const Reference& reference) {
  const unsigned rows = rows_of(problem);
  const Device<Value> in(problem.values), out(std::size_t{rows} * rows);
  const dim3 grid(parts(rows, side), parts(rows, side)), block(side, side);
  trial.device([&] { kernel<<<grid, block>>>(in.get(), out.get(), rows); });
  trial.compare(out.download(), trial.host([&] {
    Values wanted(std::size_t{rows} * rows);
    for (unsigned y = 0; y < rows; ++y)
      for (unsigned x = 0; x < rows; ++x) wanted[std::size_t{y} * rows + x] = reference(x, y, rows);
    return wanted;
  }));
}

// ---- transpose --------------------------------------------------------------------------------------------

__global__ void transpose_plainly(const Value* in, Value* out, unsigned rows) {
  const unsigned x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  if (x < rows && y < rows) out[x * rows + y] = in[y * rows + x];
}

/// Through a tile in shared memory, whose rows may be padded, by blocks in the grid's order or diagonally.
template <unsigned padding, bool is_diagonal>
__global__ void transpose_tiles(const Value* in, Value* out, unsigned rows) {
  __shared__ Value tile[side][side + padding];
  const unsigned row = is_diagonal ? blockIdx.x : blockIdx.y;
  const unsigned column = is_diagonal ? (blockIdx.x + blockIdx.y) % gridDim.x : blockIdx.x;
  const unsigned x = column * side + threadIdx.x, y = row * side + threadIdx.y;
  if (x < rows && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * rows + x];
  __syncthreads();
  const unsigned to_x = row * side + threadIdx.x, to_y = column * side + threadIdx.y;
  if (to_x < rows && to_y < rows) out[to_y * rows + to_x] = tile[threadIdx.x][threadIdx.y];
}

void run_transpose(MatrixKernel kernel, const Problem& problem, Trial& trial) {
  run_matrix(kernel, problem, trial, [&](unsigned x, unsigned y, unsigned rows) {
    return problem.values[std::size_t{x} * rows + y];
  });
}
ADD_PRIMITIVE(transpose, plain) { run_transpose(transpose_plainly, problem, trial); }
ADD_PRIMITIVE(transpose, tiles) { run_transpose(transpose_tiles<0, false>, problem, trial); }
ADD_PRIMITIVE(transpose, padded) { run_transpose(transpose_tiles<1, false>, problem, trial); }
ADD_PRIMITIVE(transpose, diagonal) { run_transpose(transpose_tiles<1, true>, problem, trial); }

// ---- stencil: the sum of an element and its four neighbours -----------------------------------------------

__global__ void stencil_plainly(const Value* in, Value* out, unsigned rows) {
  const unsigned x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  if (x >= rows || y >= rows) return;
  const unsigned at = y * rows + x;
  out[at] = in[at] + (x > 0 ? in[at - 1] : 0) + (x + 1 < rows ? in[at + 1] : 0) +
            (y > 0 ? in[at - rows] : 0) + (y + 1 < rows ? in[at + rows] : 0);
}

__global__ void stencil_tiles(const Value* in, Value* out, unsigned rows) {
  __shared__ Value tile[side + 2][side + 2];
  for (unsigned i = threadIdx.y * side + threadIdx.x; i < (side + 2) * (side + 2); i += side * side) {
    const unsigned x = blockIdx.x * side + i % (side + 2) - 1, y = blockIdx.y * side + i / (side + 2) - 1;
    tile[i / (side + 2)][i % (side + 2)] = x < rows && y < rows ? in[y * rows + x] : 0;
  }
  __syncthreads();
  const unsigned x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  const unsigned i = threadIdx.x + 1, k = threadIdx.y + 1;
  if (x < rows && y < rows)
    out[y * rows + x] = tile[k][i] + tile[k][i - 1] + tile[k][i + 1] + tile[k - 1][i] + tile[k + 1][i];
}

void run_stencil(MatrixKernel kernel, const Problem& problem, Trial& trial) {
  run_matrix(kernel, problem, trial, [&](unsigned x, unsigned y, unsigned rows) {
    const Value* const at = &problem.values[std::size_t{y} * rows + x];
    return *at + (x > 0 ? at[-1] : 0) + (x + 1 < rows ? at[1] : 0) +
           (y > 0 ? at[-static_cast<std::ptrdiff_t>(rows)] : 0) + (y + 1 < rows ? at[rows] : 0);
  });
}
ADD_PRIMITIVE(stencil, plain) { run_stencil(stencil_plainly, problem, trial); }
ADD_PRIMITIVE(stencil, tiles) { run_stencil(stencil_tiles, problem, trial); }

// ---- product of a matrix with itself ----------------------------------------------------------------------

__global__ void square_plainly(const Value* in, Value* out, unsigned rows) {
  const unsigned x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  if (x >= rows || y >= rows) return;
  Value sum = 0;
  for (unsigned k = 0; k < rows; ++k) sum += in[y * rows + k] * in[k * rows + x];
  out[y * rows + x] = sum;
}

__global__ void square_tiles(const Value* in, Value* out, unsigned rows) {
  __shared__ Value a[side][side], b[side][side];
  const unsigned x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  Value sum = 0;
  for (unsigned first = 0; first < rows; first += side) {
    const unsigned of_a = first + threadIdx.x, of_b = first + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = y < rows && of_a < rows ? in[y * rows + of_a] : 0;
    b[threadIdx.y][threadIdx.x] = x < rows && of_b < rows ? in[of_b * rows + x] : 0;
    __syncthreads();
    for (unsigned k = 0; k < side; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
    __syncthreads();
  }
  if (x < rows && y < rows) out[y * rows + x] = sum;
}

void run_product(MatrixKernel kernel, const Problem& problem, Trial& trial) {
  run_matrix(kernel, problem, trial, [&](unsigned x, unsigned y, unsigned rows) {
    Value sum = 0;
    for (std::size_t k = 0; k < rows; ++k)
      sum += problem.values[y * std::size_t{rows} + k] * problem.values[k * rows + x];
    return sum;
  });
}
ADD_PRIMITIVE(matrix_product, plain) { run_product(square_plainly, problem, trial); }
ADD_PRIMITIVE(matrix_product, tiles) { run_product(square_tiles, problem, trial); }

// ---- sparse matrix times vector: the runs are rows, the permutation has the columns --------------

template <unsigned threads>
__global__ void multiply_rows(const Value* in, const Value* columns, const Value* offsets,
                              const Value* vector, Value* out, unsigned rows) {
  const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / threads;
  if (row >= rows) return;
  Value sum = 0;
  for (unsigned i = offsets[row] + threadIdx.x % threads; i < offsets[row + 1]; i += threads)
    sum += in[i] * vector[columns[i]];
  for (unsigned stride = threads / 2; stride > 0; stride /= 2)
    sum += __shfl_down_sync(0xffffffff, sum, stride);
  if (threadIdx.x % threads == 0) out[row] = sum;
}

template <unsigned threads>
void run_sparse(const Problem& problem, Trial& trial) {
  const Device<Value> in(problem.values), columns(problem.permutation), offsets(problem.offsets);
  const Device<Value> vector(problem.keys), out(problem.offsets.size() - 1);
  const auto rows = static_cast<unsigned>(out.size());
  trial.device([&] {
    multiply_rows<threads><<<parts(std::size_t{rows} * threads, block_threads), block_threads>>>(
        in.get(), columns.get(), offsets.get(), vector.get(), out.get(), rows);
  });
  trial.compare(out.download(), trial.host([&] {
    Values wanted(rows);
    for (std::size_t row = 0; row < rows; ++row)
      for (Value i = problem.offsets[row]; i < problem.offsets[row + 1]; ++i)
        wanted[row] += problem.values[i] * problem.keys[problem.permutation[i]];
    return wanted;
  }));
}
ADD_PRIMITIVE(sparse_product, threads) { run_sparse<1>(problem, trial); }
ADD_PRIMITIVE(sparse_product, warps) { run_sparse<warp_threads>(problem, trial); }

}  // namespace
