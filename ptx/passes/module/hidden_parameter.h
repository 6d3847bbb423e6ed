#pragma once

#include <memory>

#include "ptx/passes/pass.h"

namespace lynxpp::ptx {

/// Appends the probe parameter to the kernel (one struct of unit.spliced.words 64-bit words) and, when device
/// functions are instrumented, the frame pointer to their signatures and to every direct call of them. Runs
/// behind the splice pass: the argument is staged right before the call, after any probe there.
std::unique_ptr<Pass> make_hidden_parameter_pass();

}  // namespace lynxpp::ptx
