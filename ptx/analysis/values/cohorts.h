// Cohorts: lanes of a warp that execute a block together.
//
// The cohort of one execution of a block is the set of lanes of a warp that execute it together, as
// Uniformity defines it. A block shares its cohort with its immediate dominator if no branch between the last
// execution of the dominator and each execution of the block may diverge, and no call lies between them:
// lanes that execute the dominator together then either reach the block together, equally often, or do not
// reach it.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/loops.h"
#include "ptx/analysis/values/uniformity.h"

namespace lynxpp::ptx {

/// True if lanes that arrive apart may continue together: barriers, and every `.sync` instruction.
bool may_join_lanes(const Instruction& instruction);

class LaneCohorts {
 public:
  LaneCohorts(const Function& function, const ControlFlowGraph& graph, const DominatorTree& dominators,
              const LoopNest& loops, const Uniformity& uniformity);

  enum class Link : std::uint8_t {
    apart,  ///< not known to be shared
    /// shared, but lanes may join on a path between them that hardware had not reconverged before
    joining,
    together,  ///< shared
  };
  /// The link of a block to its immediate dominator; apart for the entry and for unreachable blocks.
  Link link(std::uint32_t block) const { return links_[block]; }
  /// True if the block's cohort is that of the function's entry: no earlier branch diverged.
  bool is_converged(std::uint32_t block) const { return converged_[block]; }

 private:
  Link find_link(std::uint32_t block) const;

  const Function& function_;
  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  const LoopNest& loops_;
  const Uniformity& uniformity_;
  std::vector<Link> links_;
  std::vector<bool> converged_;
  /// remaining steps, so that functions of thousands of nested loops take linear time
  mutable std::size_t budget_;
};

}  // namespace lynxpp::ptx
