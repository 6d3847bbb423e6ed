// Maps an address of device memory to the allocation that holds it; allocationId() searches this table.
#pragma once

#include <cstdint>
#include <vector>

namespace lynxpp::cod {

struct AllocatedRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;  ///< result of allocationId()
};

/// The result if no range holds the address.
inline constexpr std::uint64_t no_allocation = ~std::uint64_t{0};
/// A module variable outside all allocations has this plus its index as its id. Allocations have their own
/// ids (device::LiveAllocation::number).
inline constexpr std::uint64_t first_variable_id = std::uint64_t{1} << 32;

/// The number of ranges, then begin, end and id of each, ascending. Precondition: no two ranges overlap.
std::vector<std::uint64_t> allocation_table(std::vector<AllocatedRange> ranges);

}  // namespace lynxpp::cod
