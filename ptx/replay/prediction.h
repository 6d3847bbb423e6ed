// Determines which accesses of a replay program are predictable, which branches replay must skip over, and
// which operations it can omit.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/replay/program.h"

namespace lynxpp::ptx {

/// Fills is_predictable, ReplayOperation::is_shared and the skipped-over blocks. `successors` is indexed by
/// block.
void predict_accesses(ReplayProgram& program, const std::vector<std::vector<std::uint32_t>>& successors,
                      bool may_exit_in_calls);

/// Removes unpredictable accesses, accesses to shared memory unless `follows_shared`, and operations that no
/// remaining operation depends on.
void drop_unused_operations(ReplayProgram& program, bool follows_shared);

}  // namespace lynxpp::ptx
