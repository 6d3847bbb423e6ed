// Keeps the thread blocks of a variant resident together if those of its original are: such blocks may wait
// for each other, and would deadlock otherwise.
#pragma once

#include <cstdint>

#include "device/device.h"

namespace lynxpp::device::cuda {

/// True if the launch is cooperative, by its own flag or by an attribute.
bool is_cooperative(const Launch& launch);

/// Returns the register count per thread that keeps the whole grid resident; 0 if it would be too low.
std::uint32_t residency_limit(const Launch& launch, std::uint32_t multiprocessors);

}  // namespace lynxpp::device::cuda
