// Kernels that share registers by setmaxnreg have as many as that says, whatever a variant would need.
#pragma once

#include <string>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Fails if the variant has more values alive at once, somewhere in the kernel, than setmaxnreg leaves it
/// registers there, by liveness: ptxas would take minutes and gigabytes before it refuses, inside the
/// program. Succeeds for kernels without setmaxnreg, whose number of registers is ptxas's choice.
Status check_register_budget(ptx::InstrumentationUnit& unit, const std::string& variant);

}  // namespace lynxpp::engine
