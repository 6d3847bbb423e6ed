// Finds the statements of a specification that only count how often a program point executes. They need no
// code at each site: the engine counts a few control-flow edges and derives all other counts on the host
// (ptx/passes/counting/plan.h).
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// Fills Program::counters and marks the statements (Statement::is_counted) and the handlers that contain
/// nothing else (Handler::is_counted). A statement qualifies if
///   - it is at the top level of a block or instruction handler, or directly under `if
///     (leastActiveThreadInWarp())` there;
///   - it is atomicAdd(&array[…], addend), atomicIncrement(&array[…]), array[…] += addend or array[…]++, and
///     its result is unused;
///   - `array` is a global integer array whose extents are constants, BASIC_BLOCKS or INSTRUCTIONS, indexed
///     by constants, basicBlockId() and instructionId() respectively;
///   - the addend is a constant, accessSize(), bankGroups(), basicBlockInstructionCount(),
///     basicBlockPredicatedInstructionCount() or, for threads, basicBlockExecutedInstructionCount();
///   - or it is under `if (d && leastActiveThreadInWarp())`, where d is a variable that is only ever assigned
///     divergentWarp(branchTarget()), and the handler's filter selects only `bra` by opcode;
///   - no other device code accesses the array, and no `return` precedes the statement.
/// Other statements of instruction handlers, at any nesting, become Program::tallies (Statement::tally):
/// atomicAdd(&array[…], addend) and atomicIncrement(&array[…]) with such an array and such indices, if the
/// addend has an unsigned type of up to 32 bits or is a constant that fits in one.
/// Precondition: analysed without errors.
void find_counters(Program& program);

}  // namespace lynxpp::cod
