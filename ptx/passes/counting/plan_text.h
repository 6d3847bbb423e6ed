// The plan of a kernel's counting in words: what each function increments, what becomes of it in memory, and
// how all that is asked for follows from the slots.
//
//   kernel k: 1 register, 2 bits
//     a0  register, every lane: one before line 9 where %p1 holds
//     slot 0  sum of a0
//   threads at block 1 = launched threads - slot 0
#pragma once

#include <string>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Empty: nothing is counted. `unit` has been planned by the pass count-plan.
std::string count_plan_text(const InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
