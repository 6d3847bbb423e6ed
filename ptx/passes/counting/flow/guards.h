// Counts for guarded instructions: executions by threads for which the guard holds, by warps in which it
// holds for some lane, and divergent executions of branches.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ptx/passes/counting/draft.h"

namespace lynxpp::ptx {

/// How the threads of each guard are counted.
struct ThreadGuards {
  struct Guard {
    std::uint32_t instruction = 0;
    /// The position of the counted guard: this one, or an earlier one with the same value in the block.
    std::size_t counted = 0;
    bool is_opposite = false;  ///< holds for the block's threads for which the counted one does not
  };
  std::vector<Guard> guards;
  /// Blocks whose last instruction's guard holds exactly for the threads that do not fall through.
  std::set<std::uint32_t> exits;
};

/// Runs before the thread flow is built, and requests the blocks that guards are computed from.
ThreadGuards find_thread_guards(FunctionDraft& draft);

/// Runs after the flows are built: plans the guards' counters and defines what follows from them.
void plan_guards(PlanDraft& plan, FunctionDraft& draft, const ThreadGuards& threads);

}  // namespace lynxpp::ptx
