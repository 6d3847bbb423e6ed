// Addresses of added accesses to global memory.
#pragma once

#include <optional>
#include <string>

#include "ptx/perturb/additions.h"

namespace lynxpp::ptx {

/// Addresses of the form `harmless`.
enum class HarmlessAccess {
  one_line,         ///< at Additions::lane_offset(), in all warps
  first_lane_line,  ///< consecutive words of the lines that the access of the first active lane needs
};

struct RegionAddress {
  VirtualRegister address;  ///< 64 bits
  std::string note;
};

/// Computes the address of an added load from the allocation, or the module's variable, that the site's
/// address operand points into (memory_regions.h): in another part of it at the same offset, or in the form
/// `harmless` as requested. Uses the scratch buffer, and says so, if the object is unknown or a small or
/// unaligned variable. `bytes` is the access's size. nullopt if Additions::low_address() has no result.
std::optional<RegionAddress> region_address(Additions& to, const Operand& address, std::uint32_t bytes,
                                            HarmlessAccess harmless);

/// Computes the address of an added access in the scratch buffer: at the same offset from the allocation's
/// begin, or with the same low bits if that is unknown; in the form `harmless` at an address that no other
/// thread uses, except modulo `least_scratch_bytes`. nullopt as above.
std::optional<VirtualRegister> scratch_address(Additions& to, const Operand& address, std::uint32_t bytes);

}  // namespace lynxpp::ptx
