// Hoists reads of special registers in loops to the function's entry.
//
// ptxas rereads a special register wherever the text does, although a lane's number is constant. So the code
// that lynxpp adds inside a loop (handlers, elections of counters) uses a register that is set at the
// function's entry. Outside loops nothing changes: one read is cheaper than a register that is live through
// the function.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Runs after all passes that add code to bodies. The program's own instructions are unchanged.
Status hoist_special_registers(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
