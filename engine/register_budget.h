// Checks register use in kernels that redistribute registers with setmaxnreg: their register counts are
// fixed, whatever a variant needs.
#pragma once

#include <string>

#include "ptx/ir/module.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Fails if, at some program point of the kernel, the variant has more live values than setmaxnreg leaves
/// registers. In this case ptxas would take minutes and gigabytes inside the program before it fails.
/// Succeeds for kernels without setmaxnreg, whose register count ptxas chooses.
Status check_register_budget(const ptx::Module& module, const ptx::Function& kernel,
                             const std::string& variant);

}  // namespace lynxpp::engine
