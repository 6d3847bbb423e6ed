// Finds where the lanes of a warp diverge and where they reconverge, for the warp flow (warp_flow.h).
//
// Two shapes determine a block's execution count without counting every execution. In a region, lanes diverge
// in the first block and all of them reach the end. In a divergent loop, the lanes of a warp enter together,
// exit in different iterations, and all reach the loop's end. Both require that no lane waits for others or
// exits the function in between: then the end executes once per execution of the beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// A loop whose lanes reconverge at the start of each iteration. For anything that every full iteration
/// executes once, the warp's count is the maximum over its lanes.
struct DivergentLoop {
  std::uint32_t loop = 0;  ///< in LoopNest::loops()
  std::uint32_t end = 0;   ///< block where all lanes have reconverged
  /// Executed once before the loop, by exactly the lanes that reach `end` together.
  ProgramPoint begin;
  bool begins_after_branch = false;   ///< some lanes of the preceding block do not reach `begin`
  std::vector<std::uint32_t> blocks;  ///< ascending: the loop's blocks, and those between it and its end
};

/// Analyses the blocks of one function.
class WarpRegions {
 public:
  WarpRegions(const CountedFunction& function, const EdgeSites& sites);

  bool diverges(std::uint32_t block) const { return diverges_[block]; }
  /// True if lanes of the warp that arrived on different paths may reconverge at some instruction of the
  /// block.
  bool may_join(std::uint32_t block) const { return joins_[block]; }
  /// Returns the blocks (ascending) between a divergence and the point where all its lanes have reconverged;
  /// nullopt if lanes may enter from elsewhere, exit to elsewhere, or wait.
  std::optional<std::vector<std::uint32_t>> region_of(std::uint32_t begin, std::uint32_t end);
  /// In no particular order.
  std::vector<DivergentLoop> divergent_loops();

 private:
  void look_at(std::uint32_t block);
  std::uint32_t outermost_loop(std::uint32_t block) const;
  bool may_spin_around(std::uint32_t block) const;
  std::optional<std::vector<std::uint32_t>> blocks_between(std::uint32_t begin, std::uint32_t end,
                                                           std::uint32_t loop);
  std::optional<DivergentLoop> divergent_loop(std::uint32_t loop);
  std::uint32_t end_of_loop(std::uint32_t loop) const;
  std::uint32_t only_entry(std::uint32_t loop) const;
  bool lanes_iterate_together(std::uint32_t loop);
  bool stays_together(std::uint32_t divergence, std::uint32_t loop);
  bool find_begin(DivergentLoop& divergent, std::uint32_t preheader);
  ProgramPoint point_after(std::uint32_t block) const;
  bool enters_once(const DivergentLoop& divergent, const std::vector<std::uint32_t>& region);
  bool reaches(std::uint32_t from, std::uint32_t target, std::uint32_t barrier);
  bool spend();

  const CountedFunction& function_;
  const EdgeSites& sites_;
  const ControlFlowGraph& graph_;
  const LoopNest& loops_;
  const DominatorTree& dominators_;
  const std::vector<std::uint32_t>& post_dominators_;
  std::vector<bool> diverges_, joins_, waits_;
  std::set<std::uint32_t> spinning_loops_;  ///< outermost loops in which lanes may spin
  std::size_t budget_;                      ///< keeps functions with thousands of nested regions linear
};

}  // namespace lynxpp::ptx
