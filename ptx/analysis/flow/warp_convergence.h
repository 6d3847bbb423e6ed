// Finds which blocks the lanes of a warp execute together: a data-flow analysis over the flow graph.
//
// A group is a set of lanes that execute a block at the same time; each execution of a block by a group is
// one warp execution. The value of a block's start is one of a chain, from the least to the greatest:
//
//   apart     nothing is known: lanes that were one group may arrive as several, and several as one
//   together  executions are conserved: see below; but some lanes of the warp may be missing
//   whole     the same, and each group has all launched lanes of the warp
//
// The entry of a kernel is whole, that of another function together. A value flows along each edge from
// `block` to `next`, and the value of `next` is the least of all that arrive (transfer function, `after`):
//
//   whole     if the lanes are awaited in `next`, or in an iteration of a divergent loop: see there
//   apart     if lanes leave `block` on several edges, or one after the other: after calls, and where a
//             group without all lanes may join others. Into a divergent loop, the edge is counted instead
//   otherwise the value of `block`, but at least together: an execution counted at its start is one group
//
// Blocks whose lanes are awaited: if lanes leave `begin` on several edges, and all of them reach its
// post-dominator `end` without waiting, leaving or being entered from elsewhere, the hardware joins them in
// `end`. Then `end` executes once per execution of `begin`, whose value it receives, but at most together.
// A block where lanes converge from several paths and are not awaited is apart.
//
// A block whose lanes the ISA requires to be all lanes of the warp (`is_joint`) may be apart, but is never
// together, and passes on whole.
//
// Conservation: if the value of a block is not apart, it executes as often as all edges to it are taken
// whose lanes are not awaited there, plus the executions of each `begin` that it ends, plus entries.
//
// Proof, by induction over the execution. A group is split only by edges that transfer apart or whose lanes
// are awaited; groups are joined only where lanes converge from several paths, which is apart or `end`, and
// within blocks that may join lanes. Hence a group that takes any other edge arrives as exactly that group:
// one execution of `next` per edge taken. In `end`, the lanes of one execution of `begin` arrive as one
// group by the choice of the region, and the region's blocks have no other way in. If all values that
// arrive are whole, so is the arriving group; it has no other lanes that it could join. The transfer
// function is monotone and the chain has three values, so that repeated transfer ends with the greatest
// solution after at most two changes per block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ptx/analysis/flow/dominators.h"
#include "ptx/analysis/flow/loops.h"

namespace lynxpp::ptx {

enum class Convergence : std::uint8_t { apart, together, whole };

/// The effect of a block on the lanes that execute it.
struct WarpBlock {
  bool is_reachable = false;
  bool is_meeting = false;  ///< lanes of a warp may arrive on several paths
  bool splits = false;      ///< lanes may leave on several edges
  bool restarts = false;    ///< lanes may leave one after the other
  bool may_join = false;    ///< lanes of other groups may join inside
  bool is_joint = false;    ///< all lanes of a warp execute it together, by the rules of the ISA
};

/// A divergent loop: the lanes of a warp enter together and iterate together until they exit, perhaps in
/// different iterations; all of them reach `end`. The loop is counted once, on its only edge from outside.
struct WarpLoop {
  std::uint32_t loop = 0;   ///< in LoopNest::loops()
  std::uint32_t begin = 0;  ///< executed before the loop by the lanes that are awaited at `end`
  std::uint32_t end = 0;
  bool begins_after_branch = false;   ///< some lanes of `begin` do not enter
  std::vector<std::uint32_t> blocks;  ///< the loop's blocks, and those between it and its end
};

/// A function as the analysis sees it.
struct WarpPaths {
  const ControlFlowGraph& graph;
  const DominatorTree& dominators;
  const std::vector<std::uint32_t>& post_dominators;
  const LoopNest& nest;
  bool begins_whole = false;
  std::vector<WarpBlock> blocks;
  std::vector<WarpLoop> loops;
  /// Returns the blocks between a divergence and the block where all its lanes are joined; nullopt if there
  /// is no such region.
  std::function<std::optional<std::vector<std::uint32_t>>(std::uint32_t begin, std::uint32_t end)> region_of;
};

class WarpConvergence {
 public:
  /// Borrows the objects to which `paths` refers.
  explicit WarpConvergence(WarpPaths paths);

  Convergence at_start(std::uint32_t block) const { return values_[block]; }
  /// True if each group that executes the block has all launched lanes of its warp.
  bool is_whole(std::uint32_t block) const {
    return paths_.blocks[block].is_joint || values_[block] == Convergence::whole;
  }
  bool is_apart(std::uint32_t block) const { return values_[block] == Convergence::apart; }
  /// True if a group may leave the block as several, even if it takes one edge.
  bool restarts(std::uint32_t block) const;
  /// Returns the block that executes once per execution of this one, where its lanes split; or no_block.
  std::uint32_t end_of(std::uint32_t block) const { return end_of_[block]; }
  /// The same for a divergent loop, in the order of WarpPaths::loops.
  std::uint32_t end_of_loop(std::uint32_t index) const { return end_of_loop_[index]; }
  /// The divergent loop that lanes may exit from this block; or no_loop.
  std::uint32_t loop_left(std::uint32_t block) const { return loop_left_[block]; }
  /// True if the lanes that take the edge are awaited in `next`.
  bool is_awaited(std::uint32_t block, std::uint32_t next) const;
  /// Edges into divergent loops with a count of their own, because lanes may take them apart.
  const std::set<std::pair<std::uint32_t, std::uint32_t>>& entered_anew() const { return entered_anew_; }

 private:
  void find_regions();
  void find_regions(std::uint32_t end, std::vector<std::uint32_t>& begins);
  Convergence after(std::uint32_t block, std::uint32_t next) const;
  bool leaves_apart(std::uint32_t block) const { return paths_.blocks[block].splits || restarts(block); }
  void lower(std::uint32_t block, Convergence value);
  void start();
  void solve();

  const WarpPaths paths_;
  std::vector<Convergence> values_;
  std::vector<std::uint32_t> end_of_, end_of_loop_, loop_left_;
  std::map<std::uint32_t, std::uint32_t> loop_of_header_;     ///< index in WarpPaths::loops
  std::map<std::uint32_t, std::set<std::uint32_t>> awaited_;  ///< by the block where lanes are joined
  std::set<std::pair<std::uint32_t, std::uint32_t>> entered_anew_;
  std::vector<std::uint32_t> pending_;
};

}  // namespace lynxpp::ptx
