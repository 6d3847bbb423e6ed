// Effects of copies on barrier objects in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {

/// Arrives once at the object at `place`. Returns true if the phase ends.
bool arrive_at(std::byte* place);
/// Describes missing arrivals: "1 of 2 arrivals missing in its present phase".
std::string missing_at(const std::byte* place);
/// Completes `bytes` of the outstanding bytes of the object at `place`. Returns true if the phase ends.
bool complete_bytes(std::byte* place, std::uint64_t bytes);

}  // namespace lynxpp::device::cpu
