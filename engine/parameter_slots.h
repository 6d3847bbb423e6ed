#pragma once

#include <vector>

#include "device/device.h"
#include "ptx/ir/module.h"

namespace lynxpp::engine {

/// Returns where each parameter of the kernel is in its parameter buffer.
std::vector<device::ParameterSlot> parameter_slots(const ptx::Function& kernel);

}  // namespace lynxpp::engine
