// Hoists reads of special registers in loops to the function's entry.
//
// ptxas rereads a special register wherever the text does, although a lane's number is constant. So the code
// that lynxpp adds inside a loop (handlers, elections of counters) uses a register that is set at the
// function's entry. Outside loops nothing changes: one read is cheaper than a register that is live through
// the function.
#pragma once

#include "ptx/emitter/emitter.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// Runs after all passes that add code to bodies. The program's own instructions are unchanged.
void hoist_special_registers(const ReachedFunctions& reached, EditList& edits);

}  // namespace lynxpp::ptx
