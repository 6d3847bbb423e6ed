// Prints the counting plan of a kernel: each function's increments, how accumulators reach memory, and how
// requested counts follow from the slots.
//
//   kernel k: 1 register, 2 bits
//     a0  register, every lane: one before line 9 where %p1 holds
//     slot 0  sum of a0
//   threads at block 1 = launched threads - slot 0
#pragma once

#include <string>

#include "ptx/passes/counting/plan.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

std::string count_plan_text(const CountPlan& plan, const ReachedFunctions& reached);

}  // namespace lynxpp::ptx
