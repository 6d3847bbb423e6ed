// Verifies that the text produced by the passes is well-formed.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Emits the unit's functions with their edits and parses the result. Checks that lynxpp's registers are
/// declared exactly once, in scope, and written before they are read, and that its labels are unique and
/// defined. A failure contains a line of the emitted text.
Status verify(const ptx::InstrumentationUnit& unit);

}  // namespace lynxpp::engine
