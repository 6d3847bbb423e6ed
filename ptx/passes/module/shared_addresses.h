// The pass shared-addresses: the variant writes down where the shared variables of the program lie, which
// only who assembles it knows. What is counted for each word of shared memory finds its array by it. One
// thread of the launch does so for the kernel; a device function with variables of its own does at every
// call, because nobody knows which thread will come by.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

Status store_shared_addresses(InstrumentationUnit& unit);

/// The names that may stand in SharedAddresses for a function whose code names them: shared variables that
/// its body declares outside of inner scopes, and for the kernel those of the module. The body is parsed.
std::vector<const Variable*> addressable_shared_variables(const Module& module, const Function& function);

}  // namespace lynxpp::ptx
