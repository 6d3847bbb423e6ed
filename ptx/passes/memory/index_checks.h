// Marks launches in which an index wrapped around where the sectors of an access were counted as if it could
// not (LanePatterns::of_index()).
//
// `a[y * pitch + tid.x]` with indices of 32 bits: between two lanes the index may go from 2^31 - 1 to -2^31,
// and then their addresses are not 4 bytes apart but 2^34. No lane's index is near that place in a program
// that was meant to run, so each execution that widens such an index costs one comparison, and a lane that is
// near sets a mark. What was counted is an estimate then.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Needs unit.memory.index_checks and the marks (Tally::is_mark) among the tallies of unit.counting.plan, one
/// for each function with checks.
Status write_index_checks(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
