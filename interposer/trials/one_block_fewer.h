// Launches with so much more dynamic shared memory that a multiprocessor holds one thread block fewer: what
// occupancy gains a kernel.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Returns how many thread blocks a multiprocessor holds; nullopt if unknown. `variant` null: the original.
std::optional<std::uint32_t> blocks_per_sm(device::Device& device, const device::Launch& launch,
                                           const device::Variant* variant);

/// Returns the dynamic shared memory of such a launch. Fails if no amount does so, or if the launch's blocks
/// `may_wait` for each other and might not all be resident.
Result<std::uint32_t> shared_bytes_for_one_block_fewer(device::Device& device, const device::Launch& launch,
                                                       bool may_wait);

}  // namespace lynxpp::interposer
