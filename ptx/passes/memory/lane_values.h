// Values that the lanes of a warp compute once, from their address differences, for many accesses
// (ptx/analysis/values/lane_pattern.h).
//
// A routine that uses such a value has two forms: Probe::routine computes it, Probe::with_lane_values reads
// it from a register. The pass selects accesses with a known pattern for which this pays off, and emits code
// that sets the registers at the patterns' program points; the splice pass then uses the second form. If
// lanes diverge in between, each holds its mask of conflicting lanes, and the splice pass counts those that
// are still active.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Requires unit.spliced.lane_routines; sets unit.memory.lane_values. Does nothing without routines.
Status write_lane_values(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
