// Where the lanes of a warp diverge and where they reconverge, for the warp flow (warp_flow.h).
//
// Two shapes tell how often a block runs without looking at every time it does. A region: lanes diverge at
// its beginning and all of them come to its end. A divergent loop: the lanes of a warp enter it together,
// exit it in different iterations, and all of them come to the loop's end. Both are taken only where nothing
// between makes a lane wait for others or exit the function: then the end runs once for each time the
// beginning did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Lanes in a divergent loop converge at each iteration's start. So for what every full iteration passes
/// once, the warp's count is the maximum over lanes.
struct DivergentLoop {
  std::uint32_t loop = 0;  ///< in LoopNest::loops()
  std::uint32_t end = 0;   ///< block where all lanes are together again
  /// Executed once before the loop, by exactly the lanes that come to `end` together.
  Place begin;
  bool begins_behind_branch = false;  ///< not all lanes of the block before come there
  std::vector<std::uint32_t> blocks;  ///< ascending: the loop's, and those between it and its end
};

/// In a loop: may be how a lane waits for others, which have to go on before it then, wherever they are.
bool may_spin(const Instruction& instruction);

/// Of the blocks of one function.
class WarpRegions {
 public:
  WarpRegions(const CountedFunction& function, const EdgePlaces& places);

  bool diverges(std::uint32_t block) const { return diverges_[block]; }
  /// Lanes of the warp that came by different paths may be together after some instruction of the block.
  bool may_join(std::uint32_t block) const { return joins_[block]; }
  /// The blocks (ascending) between a divergence and where all its lanes are together again; nullopt when
  /// lanes may come in or go elsewhere, or wait.
  std::optional<std::vector<std::uint32_t>> region_of(std::uint32_t begin, std::uint32_t end);
  /// In no particular order.
  std::vector<DivergentLoop> divergent_loops();
  /// Whether lanes that enter the loop together begin and end each iteration together, and exit together.
  bool passed_together(std::uint32_t loop);
  /// Whether lanes of a warp may exit the loop in different iterations.
  bool diverges_at_exit(std::uint32_t loop) const;
  /// The block to which all threads come that enter the loop, once for each time they do; no_block: there is
  /// none.
  std::uint32_t end_of_loop(std::uint32_t loop) const;

 private:
  void look_at(std::uint32_t block);
  std::uint32_t outermost_loop(std::uint32_t block) const;
  bool may_spin_around(std::uint32_t block) const;
  std::optional<std::vector<std::uint32_t>> blocks_between(std::uint32_t begin, std::uint32_t end,
                                                           std::uint32_t loop);
  std::optional<DivergentLoop> divergent_loop(std::uint32_t loop);
  std::uint32_t only_entry(std::uint32_t loop) const;
  bool lanes_iterate_together(std::uint32_t loop);
  bool stays_together(std::uint32_t divergence, std::uint32_t loop);
  bool find_begin(DivergentLoop& divergent, std::uint32_t preheader);
  Place place_behind(std::uint32_t block) const;
  bool enters_once(const DivergentLoop& divergent, const std::vector<std::uint32_t>& region);
  bool reaches(std::uint32_t from, std::uint32_t target, std::uint32_t barrier);
  bool spend();

  const CountedFunction& function_;
  const EdgePlaces& places_;
  const ControlFlowGraph& graph_;
  const LoopNest& loops_;
  const DominatorTree& dominators_;
  const std::vector<std::uint32_t>& post_dominators_;
  std::vector<bool> diverges_, joins_, waits_;
  std::set<std::uint32_t> spinning_loops_;  ///< outermost ones in which lanes may spin
  std::size_t budget_;  ///< so that functions with thousands of nested regions take linear time
};

}  // namespace lynxpp::ptx
