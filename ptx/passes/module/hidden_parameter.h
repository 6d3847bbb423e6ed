#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Appends the hidden parameter to the kernel (one struct of the slots of unit.hidden) and, if device
/// functions are instrumented, the frame pointer to their signatures and to every direct call of them. Runs
/// after the splice pass: the argument is set up directly before the call, after any probe at the call.
Status add_hidden_parameter(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
