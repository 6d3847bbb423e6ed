// Dominance frontiers of all blocks of a function.
//
// The frontier of a block is the set of blocks that it does not strictly dominate and that have a predecessor
// it dominates. Explicit frontiers of n nested loops have n² / 2 entries, because a block of the innermost
// loop has every header in its frontier. But a block's frontier differs from that of its only child in the
// dominator tree just by the targets of its own jumps and by blocks that it immediately dominates. The
// frontiers are therefore binary trees over the joins, ordered by depth in the dominator tree, that share
// equal subtrees: e edges into joins create O(e log e) nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/flow/dominators.h"

namespace lynxpp::ptx {

class DominanceFrontiers {
 public:
  DominanceFrontiers(const ControlFlowGraph& graph, const DominatorTree& dominators);

  /// Steps from the entry down the dominator tree; 0 for unreachable blocks.
  std::uint32_t depth(std::uint32_t block) const { return depths_[block]; }
  bool is_empty(std::uint32_t block) const { return roots_[block] == 0; }

  /// A union of several frontiers: joins already returned for one frontier are mostly skipped in the others.
  class Walk {
   public:
    explicit Walk(const DominanceFrontiers& frontiers) : last_(frontiers.nodes_.size(), 0) {}
    /// Starts a new union.
    void restart() { ++number_; }
    /// Nodes visited so far.
    std::size_t steps() const { return steps_; }

   private:
    friend class DominanceFrontiers;
    std::vector<std::uint32_t> last_;  ///< by node: the last walk that took the whole subtree
    std::uint32_t number_ = 1;
    std::size_t steps_ = 0;
  };

  /// Appends the blocks of the frontier at depth `least_depth` or deeper: those that the dominator of `block`
  /// at depth `least_depth - 1` strictly dominates. Takes O(log) steps for each.
  void append(std::uint32_t block, std::uint32_t least_depth, Walk& walk,
              std::vector<std::uint32_t>& joins) const;

  /// Total number of nodes in all trees.
  std::size_t node_count() const { return nodes_.size(); }

 private:
  /// Over a range of joins_; 0 is the empty tree, 1 a range of a single join.
  using Tree = std::uint32_t;
  struct Node {
    Tree left = 0;
    Tree right = 0;
  };
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t middle() const { return begin + (end - begin) / 2; }
  };

  void find_joins(const ControlFlowGraph& graph, const DominatorTree& dominators);
  Tree make(Tree left, Tree right);
  Tree insert(Tree tree, Range range, std::uint32_t join);
  Tree merge(Tree first, Tree second);
  /// Returns the tree without the joins from `end` on.
  Tree cut(Tree tree, Range range, std::uint32_t end);
  void append(Tree tree, Range range, std::uint32_t begin, Walk& walk,
              std::vector<std::uint32_t>& joins) const;
  Range all() const { return {0, static_cast<std::uint32_t>(joins_.size())}; }

  std::vector<std::uint32_t> depths_;
  std::vector<std::uint32_t> joins_;       ///< by depth
  std::vector<std::uint32_t> join_of_;     ///< index of a block in joins_
  std::vector<std::uint32_t> first_join_;  ///< by depth: the first of that depth or deeper
  std::vector<Tree> roots_;
  std::vector<Node> nodes_;
};

}  // namespace lynxpp::ptx
