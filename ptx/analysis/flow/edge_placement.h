// Selects the edges of a graph to count so that the flow over every edge can be derived.
//
// The flow into every node of a control-flow graph equals the flow out of it. The edges of a spanning tree
// (ignoring directions) therefore need no counter: their flows follow from those of all other edges, the
// chords. A tree of maximum weight puts the counters on rarely executed edges (Knuth and Stevenson 1973; Ball
// and Larus 1994).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lynxpp::ptx {

struct FlowEdge {
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  double weight = 1;      ///< estimated execution count
  bool is_known = false;  ///< its flow is known from elsewhere
  bool can_count = true;  ///< false: no counter can be inserted on it
};

class EdgePlacement {
 public:
  /// Nodes 0 to `nodes` - 1 conserve the flow; node `nodes` is the outside, which need not. Edges may be
  /// loops and parallel. nullopt if edges that cannot be counted close a cycle.
  static std::optional<EdgePlacement> make(std::uint32_t nodes, std::vector<FlowEdge> edges);

  const std::vector<FlowEdge>& edges() const { return edges_; }
  /// The edges to count, ascending; known edges are excluded.
  const std::vector<std::uint32_t>& counted() const { return counted_; }

  /// The flow of an uncounted edge: a sum of other edges' flows, each times 1 or, if is_negative, -1.
  struct Definition {
    struct Term {
      std::uint32_t edge = 0;
      bool is_negative = false;
    };
    std::uint32_t edge = 0;
    std::vector<Term> terms;
  };
  /// Definitions of all tree edges. Each refers only to edges that are counted, known or defined before it.
  std::vector<Definition> definitions() const;

 private:
  struct Step {
    std::uint32_t edge = 0;
    std::uint32_t node = 0;  ///< the node whose balance gives the edge's flow
  };
  EdgePlacement() = default;
  void order_tree(const std::vector<std::vector<std::uint32_t>>& tree);

  std::uint32_t nodes_ = 0;
  std::vector<FlowEdge> edges_;
  std::vector<std::uint32_t> counted_;
  std::vector<Step> steps_;  ///< the tree's edges, leaves first
};

}  // namespace lynxpp::ptx
