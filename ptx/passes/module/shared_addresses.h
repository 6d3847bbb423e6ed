// The shared-addresses pass: the variant stores the addresses of the program's shared variables, which are
// only assigned during assembly. The host uses them to map word counters of shared memory to arrays. One
// thread of the launch stores the kernel's addresses; a device function stores its own at every call, because
// any thread may call it.
#pragma once

#include <vector>

#include "ptx/emitter/emitter.h"
#include "ptx/ir/module.h"
#include "ptx/passes/memory/word_plan.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

void store_shared_addresses(const ReachedFunctions& reached, const SharedAddresses& shared, EditList& edits);

/// Returns the possible SharedAddresses variables of a function: shared variables that its body declares
/// outside inner scopes and, for the kernel, those of the module. Requires a parsed body.
std::vector<const Variable*> addressable_shared_variables(const Module& module, const Function& function);

}  // namespace lynxpp::ptx
