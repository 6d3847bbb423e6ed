// What a launch tells about the variant that suits it.
#pragma once

#include "device/device.h"
#include "engine/instrument.h"

namespace lynxpp::interposer {

engine::LaunchShape shape_of(const device::Launch& launch);

}  // namespace lynxpp::interposer
