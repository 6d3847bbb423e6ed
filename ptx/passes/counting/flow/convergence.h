// Determines whether the lanes of a warp converge at the kernel's exit.
//
// Code can enforce it: the first lane at the exit waits for the rest. This is unsafe if another thread waits
// for that lane to exit, as at a barrier: the program would hang. It is also unsafe if some lanes of a warp
// synchronize with each other, in the program or in a handler, while the others wait at the exit: in this
// situation a GPU left two of ten lanes in a shuffle forever (docs/design/counting.md).
#pragma once

#include "ptx/passes/counting/flow/program.h"

namespace lynxpp::ptx {

/// True if the kernel has one exit that every launched lane reaches, no lane may wait for another one to
/// exit, and lanes synchronize only in converged warps. Requires complete CountInputs::memory.
bool converges_at_exit(const CountInputs& inputs, const CountedFunction& kernel);

}  // namespace lynxpp::ptx
