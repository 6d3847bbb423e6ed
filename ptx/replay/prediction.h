// Which accesses of a replay program are predictable, where replay has to jump over what it cannot follow,
// and what it need not follow.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/replay/program.h"

namespace lynxpp::ptx {

/// Fills is_predictable, ReplayOperation::is_shared, and which blocks are skipped over. `successors`: by
/// block.
void predict_accesses(ReplayProgram& program, const std::vector<std::vector<std::uint32_t>>& successors,
                      bool may_exit_in_calls);

/// Leaves out accesses that are not predictable, of shared memory unless `follows_shared`, and what nothing
/// that is left depends on.
void drop_unused_operations(ReplayProgram& program, bool follows_shared);

}  // namespace lynxpp::ptx
