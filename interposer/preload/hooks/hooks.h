// Wrappers of the entry points in driver_api.def.
#pragma once

#include "interposer/preload/driver.h"

namespace lynxpp::preload {

/// Returns the wrapper for programs that look `slot` up.
void* looked_up_wrapper(Slot slot);

}  // namespace lynxpp::preload
