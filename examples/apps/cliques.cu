// cliques: counts the cliques of four vertices in a graph of adjacency lists, each thread those that begin at
// its vertices, by intersecting lists that it comes to in no particular order.
//
//   cliques [VERTICES]
//
// The lists follow each other. With EXAMPLE_ROW=N each is a row of N neighbours, the rest of which is empty:
// the usual way to store lists that grow, and one that camps where rows begin in few partitions.
#include "example.h"

#include <algorithm>
#include <numeric>

struct Graph {
  const int *begin, *end;  ///< of each vertex's list
  const int* neighbours;   ///< ascending, those above the vertex only
};

__host__ __device__ inline bool holds(const int* begin, const int* end, int vertex) {
  while (begin < end && *begin < vertex) ++begin;
  return begin < end && *begin == vertex;
}

/// Of cliques a < b < c < d with a = `vertex`.
__host__ __device__ inline unsigned count_from(const Graph& graph, int vertex) {
  unsigned count = 0;
  const int* const first = graph.neighbours + graph.begin[vertex];
  const int* const last = graph.neighbours + graph.end[vertex];
  for (const int* b = first; b < last; ++b) {
    const int* const b_first = graph.neighbours + graph.begin[*b];
    const int* const b_last = graph.neighbours + graph.end[*b];
    for (const int* c = b + 1; c < last; ++c) {
      if (!holds(b_first, b_last, *c)) continue;
      const int* const c_first = graph.neighbours + graph.begin[*c];
      const int* const c_last = graph.neighbours + graph.end[*c];
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

using Lists = std::vector<std::vector<int>>;

/// Of each vertex those above it, ascending. Most edges are short, so that there are cliques.
Lists random_lists(int vertices) {
  constexpr unsigned degree = 10;
  example::Random random(11);
  Lists lists(vertices);
  for (int v = 0; v < vertices; ++v) {
    for (unsigned i = 0; i < degree; ++i) {
      const int other = i % 4 == 3 ? static_cast<int>(random.below(vertices))
                                   : std::min(vertices - 1, v + 1 + static_cast<int>(random.below(24)));
      if (other != v) lists[std::min(v, other)].push_back(std::max(v, other));
    }
  }
  for (std::vector<int>& each : lists) {
    std::sort(each.begin(), each.end());
    each.erase(std::unique(each.begin(), each.end()), each.end());
  }
  return lists;
}

/// EXAMPLE_ROW; 0: the lists follow each other.
std::size_t row_of(const Lists& lists) {
  const char* const setting = std::getenv("EXAMPLE_ROW");
  if (setting == nullptr) return 0;
  std::size_t longest = 0;
  for (const std::vector<int>& each : lists) longest = std::max(longest, each.size());
  const long row = std::atol(setting);
  if (row >= static_cast<long>(longest) && row * static_cast<long>(lists.size()) <= 1L << 28)
    return static_cast<std::size_t>(row);
  std::fprintf(stderr, "EXAMPLE_ROW has to be at least %zu, and all rows at most %ld numbers\n", longest,
               1L << 28);
  std::exit(2);
}

int main(int argc, char** argv) {
  const int vertices = example::size_argument(argc, argv, 3000, 1 << 20);
  const int threads = example::block_threads(128), blocks = example::grid_blocks(30);
  const Lists lists = random_lists(vertices);
  const std::size_t row = row_of(lists);
  std::size_t edges = 0;
  std::vector<int> begin, end, neighbours;
  for (const std::vector<int>& each : lists) {
    if (row != 0) neighbours.resize(begin.size() * row);
    begin.push_back(static_cast<int>(neighbours.size()));
    neighbours.insert(neighbours.end(), each.begin(), each.end());
    end.push_back(static_cast<int>(neighbours.size()));
    edges += each.size();
  }
  std::vector<unsigned> expected(vertices);
  for (int v = 0; v < vertices; ++v)
    expected[v] = count_from({begin.data(), end.data(), neighbours.data()}, v);
  const example::DeviceArray<int> device_begin(begin), device_end(end), device_neighbours(neighbours);
  const example::DeviceArray<unsigned> counts(vertices);
  const Graph graph{device_begin.get(), device_end.get(), device_neighbours.get()};
  const auto launch = [&] { cliques<<<blocks, threads>>>(graph, vertices, counts.get()); };
  launch();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<unsigned> found = counts.download();
  const bool right = example::same("cliques", found, expected);
  std::printf("cliques: %u of 4 in a graph of %d vertices, %zu edges\n",
              std::accumulate(found.begin(), found.end(), 0u), vertices, edges);
  example::measure("cliques", launch);
  return example::finish("cliques", right, example::fnv1a(found));
}
