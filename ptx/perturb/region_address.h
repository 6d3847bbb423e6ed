// Addresses of added accesses to global memory.
#pragma once

#include <optional>
#include <string>

#include "ptx/perturb/additions.h"

namespace lynxpp::ptx {

struct RegionAddress {
  VirtualRegister address;  ///< 64 bits
  std::string note;
};

/// Computes the address of an added access to the allocation that the site's address operand points into
/// (memory_regions.h): in another part of it at the same offset, or in the form `harmless` at
/// Additions::lane_offset(). Uses the scratch buffer, and says so, if the object is unknown. `bytes` is the
/// access's size; `is_store`: the access repeats a store, at other lines than a load. nullopt if
/// Additions::low_address() has no result.
std::optional<RegionAddress> region_address(Additions& to, const Operand& address, std::uint32_t bytes,
                                            bool is_store);

/// The same in the scratch buffer; in the form `harmless` at an address that no other thread uses, except
/// modulo the buffer's size.
std::optional<VirtualRegister> scratch_address(Additions& to, const Operand& address, std::uint32_t bytes);

}  // namespace lynxpp::ptx
