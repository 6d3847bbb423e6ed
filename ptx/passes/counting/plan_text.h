// Prints the counting plan of a kernel: each function's counters, and how requested counts follow from their
// slots.
//
//   kernel k: 1 register, 0 bits
//     slot 0  register 0, every lane: one before line 9 where its guard holds
//   threads at block 1 = launched threads - slot 0
#pragma once

#include <string>

#include "ptx/passes/counting/plan.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

std::string count_plan_text(const CountPlan& plan, const ReachedFunctions& reached);

}  // namespace lynxpp::ptx
