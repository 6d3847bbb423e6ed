// Breadth-first search, one launch for each level.
#include <cstdio>
#include <cstdlib>

#include "examples/first_findings/graph.h"
#include "examples/first_findings/timer.h"

// MENDED: 1: eight lanes share a vertex; 2: vertices in the order of their degrees.
__global__ void bfs_level(const int* first, const int* column, int* level, int depth, int n, int* changed) {
#if MENDED == 1
  int v = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8, step = 8;
#else
  int v = blockIdx.x * blockDim.x + threadIdx.x, lane = 0, step = 1;
#endif
  if (v >= n || level[v] != depth) return;
  for (int k = first[v] + lane; k < first[v + 1]; k += step) {
    int w = column[k];
    if (atomicCAS(&level[w], -1, depth + 1) == -1) *changed = 1;
  }
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  int rounds = argc > 2 ? atoi(argv[2]) : 1;
  Graph graph = make_graph(n, MENDED == 2);
  int *first, *column, *level, *changed;
  cudaMalloc(&first, graph.first.size() * 4);
  cudaMalloc(&column, graph.column.size() * 4);
  cudaMalloc(&level, n * 4);
  cudaMalloc(&changed, 4);
  cudaMemcpy(first, graph.first.data(), graph.first.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(column, graph.column.data(), graph.column.size() * 4, cudaMemcpyHostToDevice);
  Timer timer;
#if MENDED == 1
  int blocks = (n + 15) / 16;
#else
  int blocks = (n + 127) / 128;
#endif
  int depth = 0;
  for (int round = 0; round < rounds; ++round) {
    cudaMemset(level, 0xff, n * 4);
    cudaMemset(level, 0, 4);
    for (depth = 0; depth < 100; ++depth) {
      cudaMemset(changed, 0, 4);
      timer.start();
      bfs_level<<<blocks, 128>>>(first, column, level, depth, n, changed);
      timer.stop();
      int more;
      cudaMemcpy(&more, changed, 4, cudaMemcpyDeviceToHost);
      if (!more) break;
    }
    timer.end_round();
  }
  std::vector<int> levels(n);
  cudaMemcpy(levels.data(), level, n * 4, cudaMemcpyDeviceToHost);
  long total = 0;
  for (int each : levels) total += each;
  printf("%d levels, sum %ld %s\n", depth + 1, total, cudaGetErrorString(cudaGetLastError()));
}
