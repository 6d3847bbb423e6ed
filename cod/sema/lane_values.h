// Which handlers may take what lanes have found out about their addresses before.
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// Sets Handler::can_use_lane_values where firstInSector() and its kin are asked for by all lanes of the
/// access: under no condition, in no helper function, and in a handler that no lane leaves early.
void find_lane_values(Program& program);

}  // namespace lynxpp::cod
