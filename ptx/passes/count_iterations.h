// Loops that count themselves: how often a block of a loop has run follows from a variable of the program's own.
//
// A register that each iteration raises or lowers by one differs behind the loop from what it was before by the number of executions of the block
// that changes it. So nothing has to be counted in the loop. Differences are taken modulo 2^32, as counters are.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/passes/count_flow.h"

namespace lynxpp::ptx {

/// At most one for each loop: those whose variable can still be read where all threads come to that enter the loop.
std::vector<Iterations> find_iterations(const CountedFunction& function);

/// Makes nodes of the flow in front of the blocks of some of `function.iterations`, which lead to them by an edge counted by the variable. On entry
/// the outside is the number of blocks.
void count_by_iterations(const CountedFunction& function, const std::vector<std::uint32_t>& chosen,
                         bool counts_warps, FlowGraphEdges& flow);

/// Registers of those that are in use. Storage of all counters is chosen.
void place_iterations(FunctionPlan& plan);

}  // namespace lynxpp::ptx
