// Special registers that probes read in loops are read once, at the function's entry.
//
// ptxas reads a special register again wherever the text does; that a lane's number does not change, it does
// not use. What lynxpp adds inside a loop (handlers, elections of counters) therefore reads a register that
// the function's entry has filled. Outside of loops nothing changes: one read costs less than a register that
// lives through the whole function.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// After all passes that add text to bodies. The program's own instructions stay as they are.
Status hoist_special_registers(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
