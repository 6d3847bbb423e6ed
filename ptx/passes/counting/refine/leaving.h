// When and where lanes leave a loop, as one number of each lane.
//
// Where lanes leave a loop one after the other, a way out divides the warp in those iterations in which some
// lane takes it and others go on. A number that is greater the later a lane leaves, in iterations and within
// one, tells behind the loop: as often as lanes have different ones of a way out, the last of all left out.
// So no vote is needed in the loop.
#pragma once

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Fills in LoopPlan::leaving where `plan.iterations` has the loop and each way out is tested in every
/// iteration.
void find_leaving(FunctionPlan& plan, const CountedFunction& function);

/// Makes a counter of warps that the branch at a block's end divides one of a loop's end, if the branch is a
/// way out of such a loop.
void count_division_by_leaving(FunctionPlan& plan, const CountedFunction& function, std::uint32_t block,
                               Counter& counter);

/// What lanes count for their warp, where it is not known otherwise.
void find_lane_counts_by_leaving(FunctionPlan& plan, const CountedFunction& function);

/// Registers of the loops in use.
void place_leaving(FunctionPlan& plan);

}  // namespace lynxpp::ptx
