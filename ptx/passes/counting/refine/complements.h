// Blocks that nearly all warps enter: those are counted that skip them.
//
// `if (index < size)` leads all warps but the last ones into the body of a kernel. A lane elected there to
// count adds to memory once for each warp, which short kernels feel; a vote before the branch costs next to
// nothing, and only a warp of which no lane enters the body has something to add. The warps that enter are
// the launched ones less these.
#pragma once

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Changes the counters of edges of the warps' flow from the outside to such blocks:
/// CountedEdge::is_complement. Only of branches that a whole warp comes to once, so that the vote has all
/// lanes wherever hardware lets them reconverge.
void count_complements(const CountedFunction& function, const EdgePlaces& places,
                       std::vector<CountedEdge>& edges);

}  // namespace lynxpp::ptx
