// Finds the functions that a kernel can reach, parses their bodies and builds their blocks.
#pragma once

#include <string>

#include "ptx/analysis/launch_shape.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Returns the kernel first, then the functions that it reaches, in textual order. Functions whose address is
/// taken stay uninstrumented, with an entry in ReachedFunctions::notes. Analyses assume launches of this
/// shape. Fails if the kernel does not exist or a body does not parse.
Result<ptx::ReachedFunctions> find_reachable(ptx::Module& module, const std::string& kernel,
                                             const ptx::LaunchShape& launch = {});

}  // namespace lynxpp::engine
