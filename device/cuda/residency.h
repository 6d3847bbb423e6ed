// Whether the thread blocks of a variant are resident together as those of its original are: such blocks may
// wait for each other, and would for ever.
#pragma once

#include <cstdint>

#include "device/device.h"

namespace lynxpp::device::cuda {

/// Whether the launch asks for it, by its own flag or by an attribute.
bool is_cooperative(const Launch& launch);

/// Registers per thread with which an SM holds as many thread blocks as all of the grid need; 0: too few.
std::uint32_t residency_limit(const Launch& launch, std::uint32_t multiprocessors);

}  // namespace lynxpp::device::cuda
