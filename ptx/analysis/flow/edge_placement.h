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

  /// An edge that needs no counter: the sum of other edges' flows, each times 1 or, where is_negative, -1.
  struct Definition {
    struct Term {
      std::uint32_t edge = 0;
      bool is_negative = false;
    };
    std::uint32_t edge = 0;
    std::vector<Term> terms;
  };
  /// Of all edges of the tree. Each names only edges that are counted, known or defined before it.
  std::vector<Definition> definitions() const;

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
  std::vector<Step> steps_;  ///< the tree's edges, leaves first
};

}  // namespace lynxpp::ptx
