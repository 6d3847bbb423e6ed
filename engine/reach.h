// Finds the functions that a kernel can reach, parses their bodies and builds their blocks.
#pragma once

#include <string>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Fills in unit.reached: the kernel first, then the functions that it reaches, in textual order. Functions
/// whose address is taken stay uninstrumented, with an entry in unit.notes. `module` is unit.module. Fails if
/// the kernel does not exist or a body does not parse.
Status find_reachable(ptx::Module& module, const std::string& kernel, ptx::InstrumentationUnit& unit);

}  // namespace lynxpp::engine
