// What a lane has counted in a loop, from what it counts for its thread anyway.
//
// What enters a block leaves it: that holds for every single lane too. Between the loop's begin and its end,
// a lane passes one way through the control flow, so how often it has taken an edge follows from the counters
// of threads on that way (Counter::lane_terms).
#pragma once

#include <cstdint>
#include <set>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Fills in the terms of the counters in `plan.loops` for which they are at hand in registers. Storage of all
/// counters is chosen. `threads` is the flow of threads, with no_counter where nothing is counted.
void find_lane_terms(FunctionPlan& plan, const FlowPlan& threads, const CountedFunction& function);

/// The counters of threads that these terms may name, or that count where lanes do: each has to keep a
/// register to itself.
std::set<std::uint32_t> counters_of_lanes(const FunctionPlan& plan, const CountedFunction& function);

}  // namespace lynxpp::ptx
