// Which functions a kernel can reach: their bodies parsed, their blocks built.
#pragma once

#include <string>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Fills unit.reached: the kernel first, then what it reaches in textual order. Functions whose address is
/// taken stay uninstrumented and are named in unit.notes. `module` is unit.module. Failure: no such kernel,
/// or a body that does not parse.
Status find_reachable(ptx::Module& module, const std::string& kernel, ptx::InstrumentationUnit& unit);

}  // namespace lynxpp::engine
