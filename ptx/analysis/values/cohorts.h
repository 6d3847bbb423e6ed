// Which blocks the same lanes of a warp execute together.
//
// The cohort of an execution of a block are the lanes of a warp that make it at once, as Uniformity
// understands it. A block shares its cohort with its immediate dominator when between the last execution of
// the dominator and each of the block no branch may divide the lanes, and no call stands: whoever executes
// the dominator together comes to the block together, as often as he comes there, or not at all.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/loops.h"
#include "ptx/analysis/values/uniformity.h"

namespace lynxpp::ptx {

/// Lanes of a warp that came there apart may be together behind it: barriers, and whatever is `.sync`.
bool may_join_lanes(const Instruction& instruction);

class LaneCohorts {
 public:
  LaneCohorts(const Function& function, const ControlFlowGraph& graph, const DominatorTree& dominators,
              const LoopNest& loops, const Uniformity& uniformity);

  enum class Link : std::uint8_t {
    apart,  ///< not known to share it
    /// shares it, but lanes may join on a path between them that hardware had not brought together before
    joining,
    together,  ///< shares it
  };
  /// With the immediate dominator; apart for the entry and for unreachable blocks.
  Link link(std::uint32_t block) const { return links_[block]; }
  /// The block's cohort is that of the function's entry: no branch before has divided it.
  bool is_whole(std::uint32_t block) const { return whole_[block]; }

 private:
  Link find_link(std::uint32_t block) const;

  const Function& function_;
  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  const LoopNest& loops_;
  const Uniformity& uniformity_;
  std::vector<Link> links_;
  std::vector<bool> whole_;
  /// steps left, so that functions of thousands of nested loops take linear time
  mutable std::size_t budget_;
};

}  // namespace lynxpp::ptx
