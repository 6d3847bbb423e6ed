// What is said of accesses and threads.
#pragma once

#include <cstdint>
#include <string>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

/// "0x7f00"
std::string hexadecimal(std::uint64_t value);

/// "a store of 4 bytes to"
std::string name_of_access(const AccessSite& site);

/// Why it is none: "4 bytes behind the end of …". Precondition: it is one of an access.
std::string name_of_fault(const WarpContext& warp, const Fault& fault);

}  // namespace lynxpp::device::cpu
