// Verifies that the edits of the passes give a well-formed text.
#pragma once

#include "ptx/passes/pass.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Checks what holds for the edits in the state: that replaced ranges do not overlap, that the text with the
/// edits parses, that lynxpp's registers are declared exactly once, in scope, and written before they are
/// read, and that its labels are unique and defined; if the state is complete, also that its parameters,
/// variables and functions are declared. The message of a failure quotes the line.
Status verify(const ptx::InstrumentationUnit& unit, const ptx::EditList& edits, ptx::EditState state);

}  // namespace lynxpp::engine
