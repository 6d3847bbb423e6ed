// Counts the warps that skip a block instead of the warps that enter it, if nearly all enter.
//
// `if (index < size)` sends all warps but the last ones into the body of a kernel. An elected lane that
// counts there adds to memory once per warp, which is noticeable in short kernels. A vote before the branch
// costs almost nothing, and only a warp none of whose lanes enters the body adds to memory. The number of
// entering warps is the number of launched warps minus this count.
#pragma once

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Replaces the counters of warp-flow edges from the outside to such blocks (CountedEdge::is_complement).
/// Only for branches that a converged warp reaches once, so that the vote has all lanes if the hardware
/// reconverges them.
void count_complements(const CountedFunction& function, const EdgeSites& sites,
                       std::vector<CountedEdge>& edges);

}  // namespace lynxpp::ptx
