// Whether the text that the passes have made so far is well-formed.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Emits the unit's functions with their edits and reads them anew: they must parse, and what lynxpp added
/// must fit together: its registers are declared where they are used and once, and written before they are
/// read, its labels stand once and are there when something jumps to them. Failure: with a line of the
/// emitted text.
Status verify(const ptx::InstrumentationUnit& unit);

}  // namespace lynxpp::engine
