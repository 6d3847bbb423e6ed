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

/// True if a lane that reaches the statement may skip the code after it: it returns, or contains a `break` or
/// `continue` of an enclosing loop or switch.
bool lets_lanes_leave(const Statement& statement);

}  // namespace lynxpp::cod
