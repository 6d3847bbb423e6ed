// Finds the handlers that can use hoisted results about the lanes' addresses.
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// Sets Handler::can_use_lane_values if all lanes of the access call firstInSector() and similar functions:
/// not under a condition, not in a helper function, and not in a handler that a lane may leave early.
void find_lane_values(Program& program);

}  // namespace lynxpp::cod
