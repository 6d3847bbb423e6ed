// Removes branches that code can do without. Every branch ends a basic block, and the time of ptxas grows
// with their number more than with that of instructions.
#pragma once

#include "ptx/ir/code.h"

namespace lynxpp::ptx {

/// Drops branches to the next statement, replaces a branch over a single instruction by its opposite guard at
/// that instruction, and drops labels without branches. Instructions that depend on which lanes execute them
/// together keep their branch.
void remove_short_branches(Code& code);

}  // namespace lynxpp::ptx
