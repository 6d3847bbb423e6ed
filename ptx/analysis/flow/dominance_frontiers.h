// Dominance frontiers of all blocks of a function.
//
// The frontier of a block are the blocks it does not strictly dominate that have a predecessor it dominates.
// Written out, the frontiers of n loops in one another have n² / 2 entries, because a block of the innermost
// loop has every header in its frontier. But what is in the frontier of a block and not of its only child in
// the dominator tree are the targets of its own jumps, and the other way round blocks that it dominates
// immediately. So the frontiers are binary trees over the joins, ordered by their depth in the dominator
// tree, that share whatever is the same: e edges that lead to joins make O(e log e) nodes.
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

  /// Several frontiers looked at together: what one of them has given is left out of the others, mostly,
  /// without being looked at again.
  class Walk {
   public:
    explicit Walk(const DominanceFrontiers& frontiers) : last_(frontiers.nodes_.size(), 0) {}
    /// Begins anew.
    void restart() { ++number_; }
    /// Nodes looked at so far.
    std::size_t steps() const { return steps_; }

   private:
    friend class DominanceFrontiers;
    std::vector<std::uint32_t> last_;  ///< by node: the last walk that took all of it
    std::uint32_t number_ = 1;
    std::size_t steps_ = 0;
  };

  /// Appends the blocks of the frontier at `least_depth` or deeper: those that the dominator of `block` at
  /// `least_depth - 1` strictly dominates. Takes O(log) steps for each.
  void append(std::uint32_t block, std::uint32_t least_depth, Walk& walk,
              std::vector<std::uint32_t>& joins) const;

  /// How many nodes the trees have together.
  std::size_t node_count() const { return nodes_.size(); }

 private:
  /// Over a range of joins_; 0 is the empty one, 1 any range of a single join.
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
  /// Without the joins from `end` on.
  Tree cut(Tree tree, Range range, std::uint32_t end);
  void append(Tree tree, Range range, std::uint32_t begin, Walk& walk,
              std::vector<std::uint32_t>& joins) const;
  Range all() const { return {0, static_cast<std::uint32_t>(joins_.size())}; }

  std::vector<std::uint32_t> depths_;
  std::vector<std::uint32_t> joins_;       ///< by depth
  std::vector<std::uint32_t> join_of_;     ///< a block's place in joins_
  std::vector<std::uint32_t> first_join_;  ///< by depth: the first of that depth or deeper
  std::vector<Tree> roots_;
  std::vector<Node> nodes_;
};

}  // namespace lynxpp::ptx
