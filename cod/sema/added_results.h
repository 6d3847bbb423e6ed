// Finds specifications whose results for several launches are the sums of the launches' results, so that the
// launches can add to one set of arrays.
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// Fills Program::added_results, provided that
///   - device code only adds to `global` arrays of 64-bit integers, never reads them, and their extents do
/// not
///     depend on the launch;
///   - every result that ON_REPORT emits is a homogeneous linear form of these arrays and of BLOCKS, WARPS
/// and
///     THREADS, or a ratio of two such forms; and
///   - the branches of ON_REPORT and its indices are the same for all launches of a variant with one grid,
///     except for `if (x != 0) emit("name", x)`.
/// Precondition: analysed without errors.
void find_added_results(Program& program);

}  // namespace lynxpp::cod
