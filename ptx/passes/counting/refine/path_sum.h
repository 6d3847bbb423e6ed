// What paths through a loop's body are worth, as one number.
//
// Where the host wants sums only, it takes the places at which lanes set bits (paths.h) with factors. When
// these are multiples of one and the same, as with the instructions of a warp, nobody needs to know how often
// which place was passed: a place that is worth three sets three bits, or one that counts twice and another
// one, and the number of bits that some lane has set is what the warp's way was worth. The first of the lanes
// adds it to a register. So nothing has to be counted for lanes that are missing, and nothing but a register
// is given away.
#pragma once

#include <vector>

#include "ptx/passes/counting/refine/merge.h"

namespace lynxpp::ptx {

/// Makes PathPlan::sum of the paths of a function where it can. `columns` are those of its counters.
void sum_paths(FunctionPlan& plan, const std::vector<CountColumn>& columns);

}  // namespace lynxpp::ptx
