// Whether the lanes of a warp converge at the kernel's exit.
//
// They can be made to: the first lane at the exit waits for the rest. Unsafe if another thread waits for it
// to exit, as at a barrier: the program would hang.
#pragma once

#include "ptx/passes/counting/flow/program.h"

namespace lynxpp::ptx {

/// The kernel has one exit, which every launched lane reaches, and no lane may wait for another one to exit.
bool converges_at_exit(const InstrumentationUnit& unit, const CountedFunction& kernel);

}  // namespace lynxpp::ptx
