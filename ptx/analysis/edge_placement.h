// Where to count so that the flow over every edge of a graph follows.
//
// Whatever runs through a control-flow graph enters every node as often as it leaves it. So the edges of a
// spanning tree (directions aside) need no counter: their flows follow from those of all other edges, the
// chords. Taking a tree of the greatest weight puts the counters where the program seldom is (Knuth and
// Stevenson 1973; Ball and Larus 1994).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lynxpp::ptx {

struct FlowEdge {
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  double weight = 1;      ///< how often it is taken, estimated
  bool is_known = false;  ///< its flow will be given
  bool can_count = true;  ///< false: no counter can be placed on it
};

class EdgePlacement {
 public:
  /// Nodes count from 0 to `nodes` - 1 and conserve the flow; number `nodes` is the outside, which need not.
  /// Edges may be loops and parallel. nullopt: edges that can have no counter close a cycle.
  static std::optional<EdgePlacement> make(std::uint32_t nodes, std::vector<FlowEdge> edges);

  const std::vector<FlowEdge>& edges() const { return edges_; }
  /// The edges to count, ascending; those known are not among them.
  const std::vector<std::uint32_t>& counted() const { return counted_; }

  struct Walk {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  /// `flows` has an element for each edge; those of counted and known edges are given, all others are filled
  /// in. Sums wrap at 64 bits. With a walk: of one who goes from a node to another one, instead of from the
  /// outside to the outside.
  void solve(std::vector<std::uint64_t>& flows, std::optional<Walk> walk = std::nullopt) const;

  struct Flow {
    std::uint32_t edge = 0;
    std::uint64_t amount = 0;  ///< 1, or -1 modulo 2^64
  };
  /// What solve() gives where one of counted() has flow 1 and the other given ones have none, without the
  /// edges that have none then.
  std::vector<Flow> flows_of(std::uint32_t counted) const;

  /// `factors` has an element for each edge: a sum of flows is wanted, each times its factor. Gives it as a
  /// sum of the flows of counted and known edges alone: their factors change, those of all others become 0.
  /// Modulo 2^64.
  void express_by_counted(std::vector<std::uint64_t>& factors) const;

 private:
  struct Step {
    std::uint32_t edge = 0;
    std::uint32_t node = 0;  ///< whose balance gives the edge's flow
  };
  EdgePlacement() = default;
  void order_tree(const std::vector<std::vector<std::uint32_t>>& tree);

  std::uint32_t nodes_ = 0;
  std::vector<FlowEdge> edges_;
  std::vector<std::uint32_t> counted_;
  std::vector<Step> steps_;           ///< the tree's edges, leaves first
  std::vector<std::uint32_t> above_;  ///< per node: the tree's edge towards the root
  std::vector<std::uint32_t> depth_;  ///< per node: of edges up to the root
};

}  // namespace lynxpp::ptx
