// Counting the blocks of a divided region in a loop where its lanes are together again, instead of in every
// block.
//
// On its way from the region's beginning to its end each lane sets a bit for every place that counts. At the
// end one `redux.sync.or` tells which places the warp has come by, and lane i counts those of bit i. An
// election in each block takes a vote, three instructions and a register. A place qualifies when a warp comes
// to it at most once for a time at the region's beginning, with all lanes that ever do. Blocks to which
// several ways lead before lanes wait for each other are as many executions as ways, those of a branch whose
// lanes meet there counted once; branches divide as often as both ways are taken beside each other.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"
#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

/// Turns counters of elected lanes into sums of PathPlan::marks (Storage::path) where it pays. Counters of
/// warps are still at their places. `is_merged`: what remains may share registers (merge.h), so elections
/// cost less. Precondition: narrow counters, redux.sync, and no lane that leaves the kernel in a function it
/// calls.
void count_by_paths(FunctionPlan& plan, const CountedFunction& function, bool is_merged);

/// The blocks at which the regions begin that it would find, ascending. Executions of these cost nothing
/// (CountedFunction::path_begins).
std::vector<std::uint32_t> path_begins(FunctionPlan plan, const CountedFunction& function, bool is_merged);

}  // namespace lynxpp::ptx
