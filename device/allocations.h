// What memory the program has that its kernels can reach, at one moment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "support/call_site.h"

namespace lynxpp::device {

enum class AllocationKind : std::uint8_t {
  device,           ///< cudaMalloc, cuMemAlloc and their pitched relatives
  pool,             ///< stream-ordered: cudaMallocAsync, cuMemAllocFromPoolAsync
  mapped,           ///< a mapping of cuMemMap
  managed,          ///< cudaMallocManaged
  host,             ///< pinned memory of cudaMallocHost, cuMemHostAlloc
  registered_host,  ///< the program's own memory, by cudaHostRegister
};

/// "device", "registered host".
constexpr std::string_view name_of(AllocationKind kind) {
  constexpr std::string_view names[] = {"device", "pool", "mapped", "managed", "host", "registered host"};
  return names[static_cast<unsigned>(kind)];
}

struct LiveAllocation {
  std::uint64_t address = 0;  ///< the program's own: of host memory, its address on the host
  std::uint64_t bytes = 0;    ///< as asked for; of pitched memory, all rows. Never 0
  std::uint64_t number = 0;   ///< in the order they were made, from 0 in the process; never used twice
  CallSite site;              ///< the program's call that made it
  AllocationKind kind = AllocationKind::device;

  bool contains(std::uint64_t where) const { return where - address < bytes; }
};

/// All live allocations of the process, those of other devices and contexts too: addresses are unique among
/// them. Variables of modules and what lynxpp itself allocates are not here. Immutable, and shared as long as
/// nothing changes; two snapshots of one device with the same version are equal.
///
///     const auto now = device.allocations();
///     if (const LiveAllocation* const array = now->find(address)) name(array->number, array->site.caller);
struct LiveAllocations {
  std::uint64_t version = 0;
  std::vector<LiveAllocation> sorted;  ///< by address; they do not overlap

  /// The allocation that `where` lies in, or null.
  const LiveAllocation* find(std::uint64_t where) const {
    const auto next = std::upper_bound(
        sorted.begin(), sorted.end(), where,
        [](std::uint64_t address, const LiveAllocation& each) { return address < each.address; });
    return next != sorted.begin() && std::prev(next)->contains(where) ? &*std::prev(next) : nullptr;
  }
};

}  // namespace lynxpp::device
