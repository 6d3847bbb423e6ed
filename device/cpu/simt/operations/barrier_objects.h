// What copies do to barriers in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {

/// One arrival at the object at `place`.
void arrive_at(std::byte* place);
/// "1 of 2 arrivals missing in its present phase"
std::string missing_at(const std::byte* place);
/// Bytes that the object at `place` expects have come.
void complete_bytes(std::byte* place, std::uint64_t bytes);

}  // namespace lynxpp::device::cpu
