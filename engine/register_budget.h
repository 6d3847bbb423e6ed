// Kernels that share registers by setmaxnreg have a fixed register count, whatever a variant needs.
#pragma once

#include <string>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Fails if, at some point of the kernel, the variant has more live values than setmaxnreg leaves
/// registers, by liveness: ptxas would take minutes and gigabytes before it refuses, inside the
/// program. Succeeds for kernels without setmaxnreg, whose register count ptxas chooses.
Status check_register_budget(ptx::InstrumentationUnit& unit, const std::string& variant);

}  // namespace lynxpp::engine
