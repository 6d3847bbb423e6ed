// The pass shared-addresses: the variant stores the addresses of the program's shared variables, which are
// assigned only when it is assembled. By them the counts of words of shared memory find their arrays. One
// thread of the launch stores those of the kernel; a device function stores its own at every call, since any
// thread may call it.
#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

Status store_shared_addresses(InstrumentationUnit& unit);

/// The names that may stand in SharedAddresses for a function whose code names them: shared variables that
/// its body declares outside of inner scopes, and for the kernel those of the module. The body is parsed.
std::vector<const Variable*> addressable_shared_variables(const Module& module, const Function& function);

}  // namespace lynxpp::ptx
