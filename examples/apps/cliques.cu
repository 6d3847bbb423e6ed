// cliques: counts the cliques of four vertices in a graph of adjacency lists. Each thread counts those that
// begin at its vertices, by intersecting lists in irregular order.
//
//   cliques [VERTICES]
//
// The lists are stored consecutively. With EXAMPLE_ROW=N, each list is a row of N neighbours, partly empty:
// the usual layout for growing lists, with partition camping if rows begin in few partitions. With
// EXAMPLE_LIST=N, up to 64, each vertex has about N higher neighbours, and the lanes of a warp process a
// vertex together: they read a list at once, two neighbours each, so that reads coalesce.
#include "example.h"

#include <algorithm>
#include <iterator>
#include <numeric>

struct Graph {
  const int *begin, *end;  ///< of each vertex's list
  const int* neighbours;   ///< in ascending order, only those above the vertex
};

__device__ inline bool holds(const int* begin, const int* end, int vertex) {
  while (begin < end && *begin < vertex) ++begin;
  return begin < end && *begin == vertex;
}

/// Counts cliques a < b < c < d with a = `vertex`.
__device__ inline unsigned count_from(const Graph& graph, int vertex) {
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
  // Round-robin, because the vertices with many higher neighbours come first.
  for (int v = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); v < vertices; v += threads)
    counts[v] = count_from(graph, v);
}

/// A warp's table of its vertex's neighbours, with open addressing, in which common neighbours of the current
/// neighbour are marked.
struct Members {
  static constexpr int places = 128, empty = -1, mark = 1 << 30;
  int key[places];
  unsigned char common[64];  ///< the slots of marked neighbours

  __device__ int place_of(int vertex) const {
    int place = vertex % places;
    while (key[place] != empty && (key[place] & ~mark) != vertex) place = (place + 1) % places;
    return place;
  }
};

/// Returns the lane's two neighbours, negative past the list's end.
__device__ int2 lane_neighbours(const Graph& graph, int vertex, int lane) {
  const int at = graph.begin[vertex] + 2 * lane, end = graph.end[vertex];
  if (at >= end) return {-1, -1};
  const int2 both = *reinterpret_cast<const int2*>(graph.neighbours + at);
  return {both.x, at + 1 < end ? both.y : -1};
}

/// Counts cliques a < b < c < d with a = `vertex`; the result is identical in all lanes of the warp.
__device__ unsigned count_from_warp(const Graph& graph, int vertex, Members& members, int lane) {
  constexpr unsigned all = 0xffffffffu;
  const int2 mine = lane_neighbours(graph, vertex, lane);
  const int size = graph.end[vertex] - graph.begin[vertex];
  for (int i = lane; i < Members::places; i += 32) members.key[i] = Members::empty;
  __syncwarp();
  for (const int each : {mine.x, mine.y}) {
    for (int place = each % Members::places; each >= 0;) {
      if (atomicCAS(&members.key[place], Members::empty, each) == Members::empty) break;
      place = (place + 1) % Members::places;
    }
  }
  __syncwarp();
  unsigned count = 0;
  for (int i = 0; i < size; ++i) {
    const int b = __shfl_sync(all, i % 2 == 0 ? mine.x : mine.y, i / 2);
    const int2 of_b = lane_neighbours(graph, b, lane);
    int found = 0;
    for (const int each : {of_b.x, of_b.y}) {
      const int place = each < 0 ? 0 : members.place_of(each);
      const bool is_common = each >= 0 && members.key[place] == each;
      const unsigned lanes = __ballot_sync(all, is_common);
      if (is_common) {
        members.key[place] = each | Members::mark;
        members.common[found + __popc(lanes & ((1u << lane) - 1))] = static_cast<unsigned char>(place);
      }
      found += __popc(lanes);
    }
    __syncwarp();
    for (int k = 0; k < found; ++k) {
      const int2 of_c = lane_neighbours(graph, members.key[members.common[k]] & ~Members::mark, lane);
      for (const int each : {of_c.x, of_c.y})
        count += each >= 0 && members.key[members.place_of(each)] == (each | Members::mark);
    }
    __syncwarp();
    for (int k = lane; k < found; k += 32) members.key[members.common[k]] &= ~Members::mark;
    __syncwarp();
  }
  for (int other = 16; other != 0; other /= 2) count += __shfl_xor_sync(all, count, other);
  return count;
}

__global__ void cliques_by_warp(Graph graph, int vertices, unsigned* counts) {
  extern __shared__ Members members[];
  const int lane = static_cast<int>(threadIdx.x % 32), warps = static_cast<int>(gridDim.x * blockDim.x / 32);
  for (int v = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32); v < vertices; v += warps) {
    const unsigned count = count_from_warp(graph, v, members[threadIdx.x / 32], lane);
    if (lane == 0) counts[v] = count;
  }
}

using Lists = std::vector<std::vector<int>>;

/// Returns each vertex's higher neighbours, sorted, at most 64. Most edges are short, so cliques exist.
Lists random_lists(int vertices, unsigned degree, unsigned reach) {
  example::Random random(11);
  Lists lists(vertices);
  for (int v = 0; v < vertices; ++v) {
    for (unsigned i = 0; i < degree; ++i) {
      const int other = i % 4 == 3 ? static_cast<int>(random.below(vertices))
                                   : std::min(vertices - 1, v + 1 + static_cast<int>(random.below(reach)));
      if (other != v) lists[std::min(v, other)].push_back(std::max(v, other));
    }
  }
  for (std::vector<int>& each : lists) {
    std::sort(each.begin(), each.end());
    each.erase(std::unique(each.begin(), each.end()), each.end());
    each.resize(std::min<std::size_t>(each.size(), 64));
  }
  return lists;
}

/// Computes the same counts by intersecting whole lists.
std::vector<unsigned> expected_counts(const Lists& lists) {
  const auto common = [](const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  };
  std::vector<unsigned> counts(lists.size());
  for (std::size_t a = 0; a < lists.size(); ++a) {
    for (const int b : lists[a]) {
      const std::vector<int> of_both = common(lists[a], lists[b]);
      for (const int c : of_both) counts[a] += static_cast<unsigned>(common(of_both, lists[c]).size());
    }
  }
  return counts;
}

/// Returns EXAMPLE_ROW; 0: the lists are stored consecutively.
std::size_t row_of(const Lists& lists) {
  const char* const setting = std::getenv("EXAMPLE_ROW");
  if (setting == nullptr) return 0;
  std::size_t longest = 0;
  for (const std::vector<int>& each : lists) longest = std::max(longest, each.size());
  const long row = std::atol(setting);
  if (row >= static_cast<long>(longest) && row * static_cast<long>(lists.size()) <= 1L << 28)
    return static_cast<std::size_t>(row);
  std::fprintf(stderr, "EXAMPLE_ROW must be at least %zu, and all rows at most %ld values\n", longest,
               1L << 28);
  std::exit(2);
}

/// Returns EXAMPLE_LIST; 0: each thread reads its own lists.
int list_length() {
  const char* const setting = std::getenv("EXAMPLE_LIST");
  if (setting == nullptr) return 0;
  const int length = std::atoi(setting);
  if (length >= 1 && length <= 64) return length;
  std::fprintf(stderr, "EXAMPLE_LIST must be a number from 1 to 64\n");
  std::exit(2);
}

int main(int argc, char** argv) {
  const int vertices = example::size_argument(argc, argv, 3000, 1 << 20);
  const int threads = example::block_threads(128), blocks = example::grid_blocks(30);
  const int list = list_length();
  const Lists lists = list == 0 ? random_lists(vertices, 10, 24) : random_lists(vertices, list, 5 * list / 2);
  const std::size_t row = row_of(lists);
  std::size_t edges = 0;
  std::vector<int> begin, end, neighbours;
  for (const std::vector<int>& each : lists) {
    if (row != 0) neighbours.resize(begin.size() * row);
    if (list != 0) neighbours.resize((neighbours.size() + 1) / 2 * 2);  // lanes read pairs
    begin.push_back(static_cast<int>(neighbours.size()));
    neighbours.insert(neighbours.end(), each.begin(), each.end());
    end.push_back(static_cast<int>(neighbours.size()));
    edges += each.size();
  }
  neighbours.push_back(-1);  // padding for a single last neighbour
  const std::vector<unsigned> expected = expected_counts(lists);
  const example::DeviceArray<int> device_begin(begin), device_end(end), device_neighbours(neighbours);
  const example::DeviceArray<unsigned> counts(vertices);
  const Graph graph{device_begin.get(), device_end.get(), device_neighbours.get()};
  const auto launch = [&] {
    if (list == 0)
      cliques<<<blocks, threads>>>(graph, vertices, counts.get());
    else
      cliques_by_warp<<<blocks, threads, threads / 32 * sizeof(Members)>>>(graph, vertices, counts.get());
  };
  launch();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<unsigned> found = counts.download();
  const bool right = example::same("cliques", found, expected);
  std::printf("cliques: %u of 4 in a graph of %d vertices, %zu edges\n",
              std::accumulate(found.begin(), found.end(), 0u), vertices, edges);
  example::measure("cliques", launch);
  return example::finish("cliques", right, example::fnv1a(found));
}
