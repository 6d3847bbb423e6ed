// Counters in the shared memory of the thread block (Counter::Storage::block), for kernels in which
// setmaxnreg leaves too few registers for counters. An increment keeps nothing live across the program's
// code. All threads of the block clear the counters together at entry, and the last lanes to exit add them to
// the plan's slots.
//
// The counters have 32 bits, so that an addition of 1 by several lanes is one machine instruction without a
// result (ATOMS.POPC.INC). An SM executes at most one of them per cycle, with 32 lanes, so a counter cannot
// wrap within 2^27 cycles; see may_wrap() in engine/counters.h for longer launches.
//
// A counter of warps has two: the lanes of executions by 32 lanes, and the number of all other executions.
// Which of the two an execution adds to follows from the mask of active lanes; if these are neither one nor
// all, the lowest adds to the second, and the others to a word that nobody reads.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/passes/counting/emit/context.h"
#include "ptx/passes/variant.h"

namespace lynxpp::ptx {

/// Declares the shared memory for the plan's counters of the block; nullopt if it has none. The program's own
/// shared memory stays aligned as it was.
std::optional<ModuleVariable> block_variable_of(const CountPlan& plan);

/// Clears the block's counters. At the kernel's entry, where all threads of the block are.
void append_block_clear(CodeBuilder& code, const CountContext& context);

/// Adds the counters to their slots, before an exit of the kernel with this guard.
void append_block_flush(CodeBuilder& code, const CountContext& context,
                        const std::optional<CodePredicate>& guard);

/// Counts the lanes for which the guard holds.
void append_block_lanes(CodeBuilder& code, const CountContext& context, const Counter& counter,
                        const std::optional<CodePredicate>& guard);

/// Counts one execution by the lanes of `mask`, which are those that execute this code.
void append_block_warp(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                       VirtualRegister mask);

/// Counts one execution by the only lane for which `leads` holds.
void append_block_leader(CodeBuilder& code, const CountContext& context, const Counter& counter,
                         const CodePredicate& leads);

}  // namespace lynxpp::ptx
