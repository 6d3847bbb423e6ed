// The effect of an instruction on the memory at one of its addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/ir/opcode.h"

namespace lynxpp::device::cpu {

/// The threads to which an operation on memory is visible, by its scope.
enum class Reach : std::uint8_t { none, block, device };

struct AccessRole {
  bool reads = false;
  bool writes = false;
  bool acquires = false;
  bool releases = false;
  bool is_barrier = false;    ///< an mbarrier object: the access has all of these effects
  bool only_asks = false;     ///< tests whether the phase of an mbarrier object is complete
  bool is_async = false;      ///< the bytes are read or written after the instruction (BlockCheck::issue)
  Reach reach = Reach::none;  ///< scope of a strong access; none if it is weak
};

/// Returns the role of the address with index `address` among the instruction's addresses.
AccessRole role_of(const ptx::OpcodeTraits& traits, std::size_t address);

/// Returns the reach of `fence` and `membar`.
Reach reach_of_fence(ptx::Modifiers modifiers);

}  // namespace lynxpp::device::cpu
