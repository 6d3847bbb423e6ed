// From an address of device memory to the allocation that holds it: what allocationId() searches.
#pragma once

#include <cstdint>
#include <vector>

namespace lynxpp::cod {

struct AllocatedRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;  ///< what allocationId() gives
};

/// Where no range holds the address.
inline constexpr std::uint64_t no_allocation = ~std::uint64_t{0};
/// Of a variable of the program's module that no allocation holds: this and its number. Allocations have
/// theirs (device::LiveAllocation::number).
inline constexpr std::uint64_t first_variable_id = std::uint64_t{1} << 32;

/// Their number, then begin, end and id of each, ascending. Precondition: no two share an address.
std::vector<std::uint64_t> allocation_table(std::vector<AllocatedRange> ranges);

}  // namespace lynxpp::cod
