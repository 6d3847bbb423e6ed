// What an instruction does at one of its addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lynxpp::device::cpu {

/// How far an operation on memory reaches, by its scope.
enum class Reach : std::uint8_t { none, block, device };

struct AccessRole {
  bool reads = false;
  bool writes = false;
  bool acquires = false;
  bool releases = false;
  bool is_barrier = false;    ///< an mbarrier object is there: all of these
  Reach reach = Reach::none;  ///< of a strong access; none: it is weak
};

/// `address` is the number of the address among the instruction's.
AccessRole role_of(std::string_view opcode, std::size_t address);

/// Of `fence` and `membar`.
Reach reach_of_fence(std::string_view opcode);

}  // namespace lynxpp::device::cpu
