// What is asked of guarded instructions: executions by the threads for which the guard holds, by warps in
// which it holds for some lane, and branches that divide a warp.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ptx/passes/counting/draft.h"

namespace lynxpp::ptx {

/// How the guards of threads are known.
struct ThreadGuards {
  struct Guard {
    std::uint32_t instruction = 0;
    /// Position of the guard that is counted: its own, or that of one with the same value in the block.
    std::size_t counted = 0;
    bool is_opposite = false;  ///< holds for the threads of the block for which that one does not
  };
  std::vector<Guard> guards;
  /// Blocks whose last instruction's guard holds for the threads that do not fall through.
  std::set<std::uint32_t> exits;
};

/// Before the flow of threads is drawn: asks for the blocks that guards follow from.
ThreadGuards find_thread_guards(FunctionDraft& draft);

/// After the flows: the counters of guards, and what follows from them.
void plan_guards(PlanDraft& plan, FunctionDraft& draft, const ThreadGuards& threads);

}  // namespace lynxpp::ptx
