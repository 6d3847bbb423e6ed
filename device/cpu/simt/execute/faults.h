// Descriptions of accesses and threads.
#pragma once

#include <cstdint>
#include <string>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

/// Formats a value as "0x7f00".
std::string hexadecimal(std::uint64_t value);

/// Describes an access, such as "a store of 4 bytes to".
std::string name_of_access(const AccessSite& site);

/// Names the address of a fault: "0x7f00", "the tensor of the map at 0x7f00".
std::string name_of_target(const Fault& fault);

/// Explains why the address is illegal. Precondition: the fault is one of an access.
std::string name_of_fault(const WarpContext& warp, const Fault& fault);

}  // namespace lynxpp::device::cpu
