// Which statements of a specification only count how often a place of the program is executed. Such a
// statement needs no code at every place: the engine counts on few edges of the control flow and works all
// other counts out on the host (ptx/passes/counting/plan.h).
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// Fills Program::counters and marks the statements (Statement::is_counted) and the handlers of which nothing
/// else is left (Handler::is_counted). A statement qualifies when
///   - it stands at the top level of a handler of blocks or instructions, or there under `if
///     (leastActiveThreadInWarp())` alone;
///   - it is atomicAdd(&array[…], addend), atomicIncrement(&array[…]), array[…] += addend or array[…]++, its
///     result unused;
///   - `array` is a global array of integers whose extents are constants, BASIC_BLOCKS or INSTRUCTIONS,
///     indexed by constants, basicBlockId() and instructionId() accordingly;
///   - the addend is a constant, accessSize(), bankGroups(), basicBlockInstructionCount(),
///     basicBlockPredicatedInstructionCount() or, for threads, basicBlockExecutedInstructionCount();
///   - or it stands under `if (d && leastActiveThreadInWarp())`, where d is a variable that only ever is
///     divergentWarp(branchTarget()), and the handler's instructions are all `bra` by their opcode;
///   - nothing else on the device touches the array, and no `return` stands before it.
/// Other statements of handlers of instructions, wherever they stand, become Program::tallies
/// (Statement::tally): atomicAdd(&array[…], addend) and atomicIncrement(&array[…]) with such an array and
/// such indices, whose addend is of an unsigned type of up to 32 bits or a constant that fits it.
/// Precondition: analysed without error.
void find_counters(Program& program);

}  // namespace lynxpp::cod
