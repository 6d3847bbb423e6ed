// Whether the lanes of a warp converge where they leave a kernel.
//
// They can be made to: the lane that comes to the exit first waits for the others. Nobody must wait for it to
// leave then: programs whose threads leave before a barrier would hang.
#pragma once

#include "ptx/passes/counting/flow/program.h"

namespace lynxpp::ptx {

/// The kernel is left at one place, by every lane that was launched, and none may wait for another one to
/// have left.
bool converges_at_exit(const InstrumentationUnit& unit, const CountedFunction& kernel);

}  // namespace lynxpp::ptx
