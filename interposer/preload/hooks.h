// The wrappers of driver_api.def.
#pragma once

#include "interposer/preload/driver.h"

namespace lynxpp::preload {

/// The wrapper to hand out for `slot` where a program looks functions up.
void* looked_up_wrapper(Slot slot);

}  // namespace lynxpp::preload
