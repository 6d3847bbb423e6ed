// State of modules and functions that the other families of hooks use.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/preload/registry.h"

namespace lynxpp::preload {

/// Number of changes of functions' attributes: the engine queries them before it loads a variant.
extern constinit std::atomic<std::uint64_t> attribute_changes;

/// Makes the engine forget images that are unloaded.
void forget_in_engine(const Registry::Removed& removed);

/// Handles a function obtained in a way that we do not intercept (cuModuleLoad from a file, cuLinkComplete,
/// enumeration): the driver reports its name and module. Precondition: Passthrough is active.
KernelPtr ask_driver(void* function);

}  // namespace lynxpp::preload
