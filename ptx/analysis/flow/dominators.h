// Dominators of the blocks of a function.
//
// Block a dominates block b if every path from the entry (block 0) to b goes through a; every block dominates
// itself. Blocks that are unreachable from the entry have no dominator and dominate nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"

namespace lynxpp::ptx {

class DominatorTree {
 public:
  explicit DominatorTree(const ControlFlowGraph& graph);

  /// no_block for the entry and for unreachable blocks.
  std::uint32_t immediate(std::uint32_t block) const { return immediate_[block]; }
  const std::vector<std::uint32_t>& children(std::uint32_t block) const { return children_[block]; }
  bool is_reachable(std::uint32_t block) const { return order_of_[block] != no_block; }
  bool dominates(std::uint32_t dominator, std::uint32_t block) const {
    return is_reachable(dominator) && is_reachable(block) && enter_[dominator] <= enter_[block] &&
           leave_[block] <= leave_[dominator];
  }

  /// Pre-order number in the dominator tree; 0 for unreachable blocks.
  std::uint32_t walk_order(std::uint32_t block) const { return enter_[block]; }

  /// On the same scale, greater than the number of every block that it dominates.
  std::uint32_t walk_end(std::uint32_t block) const { return leave_[block]; }

  /// The reachable blocks in reverse post-order: without cycles, a block comes after all its predecessors.
  const std::vector<std::uint32_t>& reverse_post_order() const { return order_; }
  /// Index of a block in that order; no_block for unreachable blocks.
  std::uint32_t order_of(std::uint32_t block) const { return order_of_[block]; }

 private:
  void order_blocks(const ControlFlowGraph& graph);
  void find_immediate(const ControlFlowGraph& graph);
  void number_tree();

  std::vector<std::uint32_t> order_, order_of_, immediate_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> enter_, leave_;  // depth-first numbers in the tree
};

}  // namespace lynxpp::ptx
