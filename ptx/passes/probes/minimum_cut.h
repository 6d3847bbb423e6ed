// Minimum s-t cut of a directed graph (Ford-Fulkerson, shortest augmenting paths).
#pragma once

#include <cstdint>
#include <vector>

namespace lynxpp::ptx {

class MinimumCut {
 public:
  static constexpr std::uint32_t source = 0, sink = 1;
  /// More than any cut costs: such an edge is never cut.
  static constexpr std::uint32_t unbounded = 1u << 30;

  MinimumCut() : edges_from_(2) {}

  /// The number of a new node.
  std::uint32_t add_node();

  /// With `from` on the source's side and `to` on the sink's, the cut costs `cost` more.
  void add_edge(std::uint32_t from, std::uint32_t to, std::uint32_t cost);

  /// By node, whether it is on the source's side; of cuts that cost the same, the one with most nodes there.
  /// There has to be one without unbounded edges. Takes time in proportion to what the cut costs times the
  /// edges; once per graph.
  std::vector<bool> source_side();

 private:
  struct Edge {
    std::uint32_t to = 0;
    /// what still fits through; the edge back stands beside it, at the index with the last bit flipped
    std::uint32_t left = 0;
  };

  bool push_along_shortest_path();

  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> edges_from_;  ///< by node
};

}  // namespace lynxpp::ptx
