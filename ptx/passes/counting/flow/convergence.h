// Whether the lanes of a warp converge at the kernel's exit.
//
// They can be made to: the first lane at the exit waits for the rest. Unsafe if another thread waits for it
// to exit, as at a barrier: the program would hang. Likewise where some lanes of a warp wait for each other
// while the rest waits at the exit, be it in the program or in a handler: a GPU was seen to leave two of ten
// lanes in a shuffle for ever then (docs/design/counting.md).
#pragma once

#include "ptx/passes/counting/flow/program.h"

namespace lynxpp::ptx {

/// The kernel has one exit, which every launched lane reaches, no lane may wait for another one to exit, and
/// lanes wait for each other only where all of a warp do. Needs InstrumentationUnit::memory.
bool converges_at_exit(const InstrumentationUnit& unit, const CountedFunction& kernel);

}  // namespace lynxpp::ptx
