// Product of a sparse matrix (compressed rows) and a vector.
#include <cstdio>
#include <cstdlib>

#include "examples/first_findings/graph.h"
#include "examples/first_findings/timer.h"

// MENDED: 1: four lanes share a row; 2: rows in the order of their lengths; 3: column numbers near those of
// the row; 4: 1 and 3; 5: 3, and a block walks its rows' elements together, which mends every access and the
// trip counts; 6: 3, and the elements of 32 rows in the order in which a warp visits them, which mends only
// accesses.
__global__ void spmv(const int* first, const int* column, const float* value, const float* x, float* y,
                     int n) {
#if MENDED == 1 || MENDED == 4
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 4, lane = threadIdx.x % 4;
  float sum = 0;
  if (row < n) {
    for (int k = first[row] + lane; k < first[row + 1]; k += 4) sum += value[k] * x[column[k]];
  }
  for (int offset = 2; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset, 4);
  if (row < n && lane == 0) y[row] = sum;
#elif MENDED == 5
  __shared__ float product[1024];
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 4, lane = threadIdx.x % 4;
  int begin = first[blockIdx.x * 32], end = first[min((blockIdx.x + 1) * 32, n)];
  float sum = 0;
  for (int chunk = begin; chunk < end; chunk += 1024) {
    int size = min(1024, end - chunk);
    for (int k = threadIdx.x; k < size; k += blockDim.x) product[k] = value[chunk + k] * x[column[chunk + k]];
    __syncthreads();
    if (row < n) {
      int last = min(first[row + 1] - chunk, size);
      for (int k = max(first[row] - chunk, 0) + lane; k < last; k += 4) sum += product[k];
    }
    __syncthreads();
  }
  for (int offset = 2; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset, 4);
  if (row < n && lane == 0) y[row] = sum;
#elif MENDED == 6
  int row = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  int length = row < n ? first[row + 1] - first[row] : 0, slice = first[min(row / 32 * 32, n)];
  float sum = 0;
  for (int k = 0; unsigned rest = __ballot_sync(~0u, k < length); ++k) {
    int at = slice + __popc(rest & ((1u << lane) - 1));
    if (k < length) sum += value[at] * x[column[at]];
    slice += __popc(rest);
  }
  if (row < n) y[row] = sum;
#else
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int k = first[row]; k < first[row + 1]; ++k) sum += value[k] * x[column[k]];
  y[row] = sum;
#endif
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  int rounds = argc > 2 ? atoi(argv[2]) : 1;
  Graph graph = make_graph(n, MENDED == 2, MENDED >= 3);
#if MENDED == 6
  graph.column = in_visiting_order(graph);
#endif
  std::vector<float> ones(graph.column.size(), 1.f), result(n);
  int *first, *column;
  float *value, *x, *y;
  cudaMalloc(&first, graph.first.size() * 4);
  cudaMalloc(&column, graph.column.size() * 4);
  cudaMalloc(&value, ones.size() * 4);
  cudaMalloc(&x, n * 4);
  cudaMalloc(&y, n * 4);
  cudaMemcpy(first, graph.first.data(), graph.first.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(column, graph.column.data(), graph.column.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(value, ones.data(), ones.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(x, ones.data(), n * 4, cudaMemcpyHostToDevice);
  Timer timer;
#if MENDED == 1 || MENDED == 4 || MENDED == 5
  int blocks = (n + 31) / 32;
#else
  int blocks = (n + 127) / 128;
#endif
  for (int round = 0; round < rounds; ++round) {
    timer.start();
    spmv<<<blocks, 128>>>(first, column, value, x, y, n);
    timer.stop();
    timer.end_round();
  }
  cudaMemcpy(result.data(), y, n * 4, cudaMemcpyDeviceToHost);
  double total = 0;
  for (float each : result) total += each;
  printf("%zu elements, sum %.0f %s\n", graph.column.size(), total, cudaGetErrorString(cudaGetLastError()));
}
