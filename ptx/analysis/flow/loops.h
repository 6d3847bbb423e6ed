// Natural loops of a function and their nesting.
//
// A natural loop has one header that dominates all its blocks and at least one latch, a block of the loop
// with an edge to the header. Loops with the same header are one loop. Cycles with several entries are not
// natural loops; they are reported as irreducible regions. Unreachable blocks belong to no loop.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/flow/dominators.h"

namespace lynxpp::ptx {

inline constexpr std::uint32_t no_loop = 0xffffffff;

struct Loop {
  std::uint32_t header = no_block;
  std::uint32_t parent = no_loop;      ///< the innermost enclosing loop
  std::uint32_t depth = 1;             ///< 1: outermost
  std::uint32_t block_count = 0;       ///< including blocks of inner loops
  std::vector<std::uint32_t> latches;  ///< ascending
  /// ascending: blocks with a successor outside the loop, and blocks that leave the function
  std::vector<std::uint32_t> exiting;
};

class LoopNest {
 public:
  LoopNest(const ControlFlowGraph& graph, const DominatorTree& dominators);

  /// In reverse post-order of their headers: a loop comes after the loops around it.
  const std::vector<Loop>& loops() const { return loops_; }
  /// The innermost loop that contains the block; no_loop if it is in no loop.
  std::uint32_t loop_of(std::uint32_t block) const { return loop_of_[block]; }
  std::uint32_t depth_of(std::uint32_t block) const {
    return loop_of_[block] == no_loop ? 0 : loops_[loop_of_[block]].depth;
  }
  bool contains(std::uint32_t loop, std::uint32_t block) const {
    const std::uint32_t inner = loop_of_[block];
    return inner != no_loop && enter_[loop] <= enter_[inner] && enter_[inner] < leave_[loop];
  }
  /// Ascending, including blocks of inner loops.
  std::vector<std::uint32_t> blocks_of(std::uint32_t loop) const;

  /// Cycles with several entries, as ascending blocks; back edges to headers of natural loops are ignored.
  const std::vector<std::vector<std::uint32_t>>& irreducible_regions() const { return irreducible_; }
  bool is_irreducible(std::uint32_t block) const { return in_irreducible_[block]; }

 private:
  void find_loops(const ControlFlowGraph& graph, const DominatorTree& dominators);
  void fill_loop(std::uint32_t loop, std::vector<std::uint32_t>& outermost, const ControlFlowGraph& graph,
                 const DominatorTree& dominators);
  void number_loops();
  void order_blocks();
  void find_exits(const ControlFlowGraph& graph);
  void find_irreducible(const ControlFlowGraph& graph, const DominatorTree& dominators);

  std::vector<Loop> loops_;
  std::vector<std::uint32_t> loop_of_;
  std::vector<std::uint32_t> enter_, leave_;  // depth-first numbers in the tree of loops
  std::vector<std::uint32_t> by_loop_;        // blocks of loops in the order of enter_
  std::vector<std::uint32_t> first_of_;       // in by_loop_, by depth-first number
  std::vector<std::vector<std::uint32_t>> irreducible_;
  std::vector<bool> in_irreducible_;
};

}  // namespace lynxpp::ptx
