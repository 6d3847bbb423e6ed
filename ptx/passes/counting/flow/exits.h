// Whether all threads of a warp leave a kernel together.
//
// They can be made to where they leave it: the lane that comes first waits for the others. Nobody must wait
// for it to leave then: programs whose threads leave before a barrier hang otherwise.
#pragma once

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// The kernel is left at one place, by every lane that was launched, and none may wait for another one to
/// have left.
bool leaves_together(const InstrumentationUnit& unit, const CountedFunction& kernel);

}  // namespace lynxpp::ptx
