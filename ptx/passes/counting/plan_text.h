// Prints the counting plan of a kernel: each function's increments, how accumulators reach memory, and how
// requested counts follow from the slots.
//
//   kernel k: 1 register, 2 bits
//     a0  register, every lane: one before line 9 where %p1 holds
//     slot 0  sum of a0
//   threads at block 1 = launched threads - slot 0
#pragma once

#include <string>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Returns an empty string if nothing is counted. Requires that the count-plan pass has run.
std::string count_plan_text(const InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
