// Loops that count themselves: how often a block of a loop has run follows from a variable of the program's
// own.
//
// A register that each iteration changes by the same constant differs behind the loop from what it was before
// by that constant times the number of executions of the block that changes it. So nothing has to be counted
// in the loop. Differences are taken modulo 2^32, as counters are. Where the step is an odd multiple of 2^k,
// a difference of 32 bits tells the number modulo 2^(32-k) only; such a register counts where the loop's ways
// out bound the number (periods.h). Registers of 64 bits tell enough in any case, for k up to 32.
//
// A loop that the lanes of a warp leave together, by one way, is read on that way: each lane that comes there
// has iterated as often as all others that do, so one of them counts for the warp, wherever the lanes have
// come from.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// At most one for each loop: those whose variable can still be read where all threads come to that enter the
/// loop.
std::vector<Iterations> find_iterations(const CountedFunction& function);

struct ChosenIterations {
  std::uint32_t index = 0;  ///< in CountedFunction::iterations
  bool is_whole = false;    ///< all lanes of the warp go through the loop together
};

/// Makes nodes of the flow in front of the blocks of some of `function.iterations`, which lead to them by an
/// edge counted by the variable. On entry the outside is the number of blocks.
void count_by_iterations(const CountedFunction& function, const std::vector<ChosenIterations>& chosen,
                         bool counts_warps, FlowGraphEdges& flow);

/// Registers of those that are in use. Storage of all counters is chosen.
void place_iterations(FunctionPlan& plan);

}  // namespace lynxpp::ptx
