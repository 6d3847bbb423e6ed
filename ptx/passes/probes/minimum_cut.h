// Minimum s-t cut of a directed graph (Edmonds-Karp: shortest augmenting paths).
#pragma once

#include <cstdint>
#include <vector>

namespace lynxpp::ptx {

class MinimumCut {
 public:
  static constexpr std::uint32_t source = 0, sink = 1;
  /// Exceeds the cost of any cut: such an edge is never cut.
  static constexpr std::uint32_t unbounded = 1u << 30;

  MinimumCut() : edges_from_(2) {}

  /// Returns the number of a new node.
  std::uint32_t add_node();

  /// Adds `cost` to cuts with `from` on the source side and `to` on the sink side.
  void add_edge(std::uint32_t from, std::uint32_t to, std::uint32_t cost);

  /// Returns, by node, whether it is on the source side; of the minimum cuts, the one with the most nodes
  /// there. Requires a cut without unbounded edges. Runs in time proportional to cut cost times edges. Call
  /// once per graph.
  std::vector<bool> source_side();

 private:
  struct Edge {
    std::uint32_t to = 0;
    /// Residual capacity. The reverse edge has the index with the lowest bit flipped.
    std::uint32_t left = 0;
  };

  bool push_along_shortest_path();

  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> edges_from_;  ///< by node
};

}  // namespace lynxpp::ptx
