// The flow graph of warps through one function.
//
// Warp executions are conserved along edges while a warp stays converged. After a divergent branch, after
// calls, and where lanes may reconverge, the flow restarts: the block is a source, and an elected lane counts
// there. If a divergent region has one beginning and one end in the same loop, its end executes as often as
// its beginning. In an outermost divergent loop, the lane with the most iterations counts for the warp; the
// lanes determine it where they reconverge after the loop.
#pragma once

#include <vector>

#include "ptx/passes/counting/flow/regions.h"

namespace lynxpp::ptx {

/// Results of refinements, available before the flows are built. All are optional.
struct FlowFacts {
  /// Loops in which the lane with the most iterations counts for the warp (Increment::Amount::lane_maximum,
  /// whose index refers to this vector).
  std::vector<DivergentLoop> divergent_loops;
  bool counts_complements = false;  ///< see complements.h
};

FlowGraph warp_flow(const CountedFunction& function, const EdgeSites& sites, WarpRegions& regions,
                    const FlowFacts& facts);

}  // namespace lynxpp::ptx
