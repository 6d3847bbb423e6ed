// Marks launches in which an index overflowed although the sectors of an access were counted as if it could
// not (LanePatterns::of_index()).
//
// In `a[y * pitch + tid.x]` with 32-bit indices, the index may wrap from 2^31 - 1 to -2^31 between two lanes;
// their addresses are then 2^34 bytes apart instead of 4. No lane's index is near that limit in a correct
// program, so each execution that widens such an index costs one comparison, and a lane near the limit sets a
// mark. If the mark is set, the counts are an estimate.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Requires unit.memory.index_checks, and in unit.counting.plan one mark (Tally::is_mark) per function with
/// checks.
Status write_index_checks(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
