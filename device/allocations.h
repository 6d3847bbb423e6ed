// A snapshot of the program's memory that kernels can access.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "support/call_site.h"

namespace lynxpp::device {

enum class AllocationKind : std::uint8_t {
  device,           ///< cudaMalloc, cuMemAlloc and their pitched variants
  pool,             ///< stream-ordered: cudaMallocAsync, cuMemAllocFromPoolAsync
  mapped,           ///< a mapping of cuMemMap
  managed,          ///< cudaMallocManaged
  host,             ///< pinned memory from cudaMallocHost, cuMemHostAlloc
  registered_host,  ///< the program's own memory, registered by cudaHostRegister
};

/// Returns "device", "registered host" and so on.
constexpr std::string_view name_of(AllocationKind kind) {
  constexpr std::string_view names[] = {"device", "pool", "mapped", "managed", "host", "registered host"};
  return names[static_cast<unsigned>(kind)];
}

struct LiveAllocation {
  std::uint64_t address = 0;  ///< as the program sees it; for host memory, the host address
  std::uint64_t bytes = 0;    ///< as requested; for pitched memory, all rows; never 0
  std::uint64_t number = 0;   ///< in order of creation, from 0 in the process; never reused
  CallSite site;              ///< the program's call that created it
  AllocationKind kind = AllocationKind::device;

  bool contains(std::uint64_t where) const { return where - address < bytes; }
};

/// All live allocations of the process, including other devices and contexts, whose addresses do not overlap.
/// Module variables and lynxpp's own allocations are excluded. Immutable, and shared until an allocation
/// changes; two snapshots of one device with the same version are equal.
///
///     const auto now = device.allocations();
///     if (const LiveAllocation* const array = now->find(address)) name(array->number, array->site.caller);
struct LiveAllocations {
  std::uint64_t version = 0;
  std::vector<LiveAllocation> sorted;  ///< by address, without overlap

  /// Returns the allocation that contains `where`, or null.
  const LiveAllocation* find(std::uint64_t where) const {
    const auto next = std::upper_bound(
        sorted.begin(), sorted.end(), where,
        [](std::uint64_t address, const LiveAllocation& each) { return address < each.address; });
    return next != sorted.begin() && std::prev(next)->contains(where) ? &*std::prev(next) : nullptr;
  }
};

}  // namespace lynxpp::device
