// Which counters count the same in every block of the grid.
//
// Where no way to a place depends on which block a thread is in, nor on memory, a thread of a given index
// comes there equally often in every block. What is counted there by the first block of the grid alone, the
// host multiplies by the number of blocks, and all others have nothing to add when they leave. Elections and
// votes for them are the first block's too: the others jump over these (CountText::unless_elsewhere). So does
// its warp, when lanes that parted are together again where their ways meet. Where some of them wait at a
// barrier in between, or spin, the others may go on alone, and how many there are may depend on the block:
// what is counted for warps behind such a place each block gives away.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Sets Counter::is_alike of the kernel's counters. Precondition: their places are known.
void find_alike_counters(FunctionPlan& plan, const CountedFunction& kernel, const InstrumentationUnit& unit);

/// What goes to memory on the spot does so in every block. Whether any counter stays alike. Precondition:
/// storage is chosen.
bool settle_alike_counters(FunctionPlan& plan);

/// In which dimensions a block has to be the first to count for others: those whose index the kernel's text
/// reads anyway, else x.
GridDimensions counted_dimensions(std::string_view body);

}  // namespace lynxpp::ptx
