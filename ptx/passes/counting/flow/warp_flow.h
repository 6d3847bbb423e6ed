// The flow of warps through one function.
//
// A warp's execution of a block is conserved as long as its lanes stay together. After a branch that divides
// them, after calls, and where lanes may reconverge, an execution begins anew: the block is a source, and an
// elected lane counts there. Where a divergent region has one beginning and one end in the same loop, its end
// runs as often as its beginning. In a divergent loop that is in no other loop the lane that iterates most
// counts for the warp; which one that was, the lanes determine where they reconverge after the loop.
#pragma once

#include <vector>

#include "ptx/passes/counting/flow/regions.h"

namespace lynxpp::ptx {

/// What refinements have determined before the flows are drawn. Without any of it they are right too.
struct FlowFacts {
  std::vector<TripCount> trip_counts;
  /// In which the lane that iterates most counts for the warp (Increment::Amount::lane_maximum, whose
  /// index is that in this vector).
  std::vector<DivergentLoop> divergent_loops;
  /// The kernel's lanes wait for each other before they exit it (convergence.h), so that a warp may count at
  /// the exit what it did once.
  bool converges_at_exit = false;
  bool counts_complements = false;  ///< see complements.h
};

struct WarpFlow {
  FlowGraph graph;
  std::vector<bool> once;   ///< per block: CounterDraft::is_once for what is counted there
  std::vector<bool> whole;  ///< per block: all launched lanes of a warp come there together
};

/// Of the trip counts it takes those that are constant with `takes_constants` alone.
WarpFlow warp_flow(const CountedFunction& function, const EdgePlaces& places, WarpRegions& regions,
                   const FlowFacts& facts, bool takes_constants);

}  // namespace lynxpp::ptx
