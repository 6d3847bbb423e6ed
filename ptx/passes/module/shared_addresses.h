// The pass shared-addresses: one thread of the launch writes down where the kernel's shared variables lie,
// which only who assembles the variant knows. What is counted for each word of shared memory finds its array
// by it.
#pragma once

#include <memory>

#include "ptx/passes/pass.h"

namespace lynxpp::ptx {

std::unique_ptr<Pass> make_shared_addresses_pass();

/// The names that stand in SharedAddresses::names when the kernel's code names them: shared variables of the
/// module, and those that the kernel's body declares outside of inner scopes. The body is parsed.
std::vector<const Variable*> addressable_shared_variables(const Module& module, const Function& kernel);

}  // namespace lynxpp::ptx
