// What most warps do at most once, and what the host adds for them.
//
// Where all that a kernel counts for each block of its own are bits, whole warps mostly leave with the same
// ones: those of the ways that most take (likely_ways.h). Such a warp has nothing to add; the others give
// their bits away, and one for themselves, so that the host knows how many left as expected. A guess that is
// wrong makes all warps the others. Numbers may come along that are only raised where those ways do not lead,
// such as around bodies in loops that are within bounds (LikelyWays::body_within_bounds): they are zero then.
#pragma once

#include "ptx/passes/counting/flow/flow.h"
#include "ptx/passes/counting/storage/bits.h"

namespace lynxpp::ptx {

/// Sets Counter::is_expected and adds FunctionPlan::exceptions where it pays; `order` gets the new counter.
/// Storage is chosen, slots are not. Precondition: the function is a kernel whose lanes can leave together
/// (leaves_together() in exits.h).
void expect_bits(FunctionPlan& plan, const CountedFunction& kernel, std::vector<std::uint32_t>& order);

/// Whether counters of a kernel that can leave together are worth bits although they are few: nothing is in
/// loops, some counter is raised by most warps, which would add to memory for it each, and each branch gives
/// reason to expect one of its ways, so that most warps add nothing. Precondition: storage is not chosen.
bool is_worth_expecting(const FunctionPlan& plan, const CountedFunction& kernel);

}  // namespace lynxpp::ptx
