// What a piece of a specification says about lanes, and where lanes diverge. Within a handler every function
// about lanes means those that execute it now.
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// The result or the effect depends on which lanes execute it: elections, masks, votes, sums, sectors, banks.
bool means_lanes(Api api);

/// Whether such a function is called, in helper functions too.
bool asks_about_lanes(const Uses& uses);
bool asks_about_lanes(const Expression& expression);
bool asks_about_lanes(const Statement& statement);

/// Whether some lanes that come to the statement may not come to what stands behind it: it returns, or has a
/// `break` or `continue` of a loop or a switch around it.
bool lets_lanes_leave(const Statement& statement);

}  // namespace lynxpp::cod
