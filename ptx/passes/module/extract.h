#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Leaves in the module what the kernel and its callees need: their definitions and declarations, the
/// variables they name that are not shared, what the initialisers of those name, aliases in use, `.file`
/// directives and the strings `.loc` refers to. Declares the probes' own variables (unit.spliced.variables).
/// Sets version and target. Runs last: it erases whole items.
Status extract_kernel(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
