// The flow graph of warps through one function.
//
// Which flow is conserved follows from the convergence of the warp's lanes
// (ptx/analysis/flow/warp_convergence.h). The flow restarts at blocks where they may be apart, and an
// elected lane counts each execution. In an outermost divergent loop, the lane with the most iterations
// counts for the warp; the lanes determine it where they reconverge after the loop.
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
