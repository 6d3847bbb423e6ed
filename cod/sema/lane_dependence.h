// Properties of code with respect to lanes: what depends on them, and where they diverge. In a handler, every
// function about lanes refers to those that are currently active.
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// True if the result depends on the lanes' addresses: sectors and banks.
bool is_about_accesses(Api api);
/// True if the result or effect depends on the active lanes: elections, masks, votes, sums, sectors, banks.
bool means_lanes(Api api);

/// True if it calls such a function, directly or through helper functions.
bool asks_about_lanes(const Uses& uses);
bool asks_about_lanes(const Expression& expression);
bool asks_about_lanes(const Statement& statement);

/// Sets Handler::can_use_lane_values if all lanes of the access call firstInSector() and similar functions:
/// not under a condition, not in a helper function, and not in a handler that a lane may leave early.
void find_lane_values(Program& program);

}  // namespace lynxpp::cod
