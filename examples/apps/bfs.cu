// bfs: breadth-first search over a random graph, one launch per level: irregular loads, loops with trip
// counts that differ between lanes, atomics on scattered addresses.
#include "example.h"

#include <climits>

__global__ void visit_level(const int* first_edge, const int* edges, int* level, int current, int* changed,
                            int n) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= n || level[node] != current) return;
  for (int edge = first_edge[node]; edge < first_edge[node + 1]; ++edge) {
    if (atomicMin(&level[edges[edge]], current + 1) > current + 1) *changed = 1;
  }
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 700, 1 << 22);
  constexpr int block = 64;
  example::Random random(13);
  std::vector<int> first_edge(1, 0), edges;
  for (int node = 0; node < n; ++node) {
    // A chain, so that every node can be reached, and a few random edges; some nodes have many.
    const unsigned extra = node % 50 == 0 ? 20 : random.below(4);
    if (node + 1 < n) edges.push_back(node + 1);
    for (unsigned i = 0; i < extra; ++i)
      edges.push_back(static_cast<int>(random.below(static_cast<unsigned>(n))));
    first_edge.push_back(static_cast<int>(edges.size()));
  }
  if (edges.empty()) edges.push_back(0);
  std::vector<int> expected(n, INT_MAX), queue(1, 0);
  expected[0] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const int node = queue[at];
    for (int edge = first_edge[node]; edge < first_edge[node + 1]; ++edge) {
      if (expected[edges[edge]] != INT_MAX) continue;
      expected[edges[edge]] = expected[node] + 1;
      queue.push_back(edges[edge]);
    }
  }

  const example::DeviceArray<int> device_first(first_edge), device_edges(edges);
  example::DeviceArray<int> level(n), changed(1);
  int levels = 0;
  const auto search = [&] {
    std::vector<int> start(n, INT_MAX);
    start[0] = 0;
    level.upload(start);
    for (levels = 0;; ++levels) {
      changed.clear();
      visit_level<<<example::ceil_div(n, block), block>>>(device_first.get(), device_edges.get(), level.get(),
                                                          levels, changed.get(), n);
      CUDA_CHECK(cudaGetLastError());
      if (changed.download()[0] == 0) break;
    }
  };
  search();
  const std::vector<int> result = level.download();
  std::printf("bfs: %d nodes, %zu edges, %d levels\n", n, edges.size(), levels);
  const bool right = example::same("level", result, expected);
  example::measure("bfs", search);
  return example::finish("bfs", right, example::fnv1a(result));
}
