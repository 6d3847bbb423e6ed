// cliques: counts the cliques of four vertices in a graph of adjacency lists, each thread those that begin at
// its vertices, by intersecting lists that lie in no particular order in memory.
#include "example.h"

#include <algorithm>
#include <numeric>

struct Graph {
  const int* begin;       ///< of each vertex's list, and behind the last
  const int* neighbours;  ///< ascending, those above the vertex only
};

__host__ __device__ inline bool holds(const int* begin, const int* end, int vertex) {
  while (begin < end && *begin < vertex) ++begin;
  return begin < end && *begin == vertex;
}

/// Of cliques a < b < c < d with a = `vertex`.
__host__ __device__ inline unsigned count_from(const Graph& graph, int vertex) {
  unsigned count = 0;
  const int* const first = graph.neighbours + graph.begin[vertex];
  const int* const last = graph.neighbours + graph.begin[vertex + 1];
  for (const int* b = first; b < last; ++b) {
    const int* const b_first = graph.neighbours + graph.begin[*b];
    const int* const b_last = graph.neighbours + graph.begin[*b + 1];
    for (const int* c = b + 1; c < last; ++c) {
      if (!holds(b_first, b_last, *c)) continue;
      const int* const c_first = graph.neighbours + graph.begin[*c];
      const int* const c_last = graph.neighbours + graph.begin[*c + 1];
      for (const int* d = c + 1; d < last; ++d) {
        if (holds(b_first, b_last, *d) && holds(c_first, c_last, *d)) ++count;
      }
    }
  }
  return count;
}

__global__ void cliques(Graph graph, int vertices, unsigned* counts) {
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  // In turn, as the vertices with many neighbours above them come first.
  for (int v = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); v < vertices; v += threads)
    counts[v] = count_from(graph, v);
}

int main(int argc, char** argv) {
  const int vertices = example::size_argument(argc, argv, 3000, 1 << 20);
  const int threads = example::block_threads(128);
  constexpr unsigned degree = 10;
  example::Random random(11);
  // Most edges are short, so that there are cliques.
  std::vector<std::vector<int>> lists(vertices);
  for (int v = 0; v < vertices; ++v) {
    for (unsigned i = 0; i < degree; ++i) {
      const int other = i % 4 == 3 ? static_cast<int>(random.below(vertices))
                                   : std::min(vertices - 1, v + 1 + static_cast<int>(random.below(24)));
      if (other != v) lists[std::min(v, other)].push_back(std::max(v, other));
    }
  }
  std::vector<int> begin(vertices + 1), neighbours;
  for (int v = 0; v < vertices; ++v) {
    std::sort(lists[v].begin(), lists[v].end());
    lists[v].erase(std::unique(lists[v].begin(), lists[v].end()), lists[v].end());
    neighbours.insert(neighbours.end(), lists[v].begin(), lists[v].end());
    begin[v + 1] = static_cast<int>(neighbours.size());
  }
  std::vector<unsigned> expected(vertices);
  for (int v = 0; v < vertices; ++v) expected[v] = count_from({begin.data(), neighbours.data()}, v);
  const example::DeviceArray<int> device_begin(begin), device_neighbours(neighbours);
  const example::DeviceArray<unsigned> counts(vertices);
  const auto launch = [&] {
    cliques<<<30, threads>>>({device_begin.get(), device_neighbours.get()}, vertices, counts.get());
  };
  launch();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<unsigned> found = counts.download();
  const bool right = example::same("cliques", found, expected);
  std::printf("cliques: %u of 4 in a graph of %d vertices, %zu edges\n",
              std::accumulate(found.begin(), found.end(), 0u), vertices, neighbours.size());
  example::measure("cliques", launch);
  return example::finish("cliques", right, example::fnv1a(found));
}
