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
#include "ptx/passes/counting/refine/trip_counts.h"

namespace lynxpp::ptx {

/// What refinements have determined before the flow is drawn. Without any of it the flow is right too.
struct WarpFlowFacts {
  /// In which the lane that iterates most counts for the warp (Increment::Amount::lane_maximum, whose
  /// index is that in this vector).
  std::vector<DivergentLoop> divergent_loops;
  const std::vector<TripCount>* trip_counts = nullptr;  ///< null: none are known
  bool takes_constants = true;                          ///< of the trip counts
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

WarpFlow warp_flow(const CountedFunction& function, const EdgePlaces& places, WarpRegions& regions,
                   const WarpFlowFacts& facts);

}  // namespace lynxpp::ptx
