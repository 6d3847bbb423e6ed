#include "device/cpu/simt/lanes/access_check.h"

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/execute/order/cluster_window.h"

namespace lynxpp::device::cpu {
namespace {

AddressRange range_at(const std::byte* begin, std::uint64_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(begin), bytes};
}

AddressRange shared_range(const WarpContext& warp) { return range_at(warp.shared, warp.shared_bytes); }

AddressRange local_range(const WarpContext& warp, std::uint32_t lane) {
  return range_at(warp.local + lane * warp.local_stride, warp.local_stride);
}

AddressRange parameter_range(const WarpContext& warp) {
  return range_at(warp.parameters, warp.parameter_bytes);
}

/// True if the address is in the local memory of any lane.
bool is_local(const WarpContext& warp, std::uint64_t address) {
  return range_at(warp.local, warp.local_stride * warp_size).holds(address, 1);
}

}  // namespace

void raise(WarpContext* warp, FaultKind kind, const AccessSite* site, std::uint64_t address,
           std::uint32_t lane) {
  raise(warp, {.kind = kind, .lane = lane, .address = address, .site = site});
}

void raise(WarpContext* warp, Fault fault) {
  fault.line = fault.site->line;
  if (warp->check != nullptr) note_fault(warp, fault);
  if (warp->fault.kind == FaultKind::none) warp->fault = fault;
}

AddressRange generic_range(const WarpContext& warp, std::uint64_t address, std::uint32_t lane) {
  for (const AddressRange& own : {shared_range(warp), local_range(warp, lane), parameter_range(warp)}) {
    if (own.holds(address, 1)) return own;
  }
  if (const auto rank = rank_of_generic(warp, address))
    return {generic_shared(warp, *rank), warp.shared_bytes};
  return warp.memory->around(address);
}

std::byte* find_in_cluster(WarpContext* warp, const AccessSite* site, std::uint64_t address,
                           std::uint32_t lane, std::uint64_t bytes, std::uint64_t alignment) {
  if (address % alignment != 0) {
    raise(warp, FaultKind::misaligned_address, site, address, lane);
    return nullptr;
  }
  std::byte* const place = site->in_cluster ? cluster_host_address(*warp, address, bytes) : nullptr;
  if (place == nullptr) raise(warp, FaultKind::illegal_address, site, address, lane);
  return place;
}

bool find_range(WarpContext* warp, const AccessSite* site, std::uint64_t address, std::uint32_t lane) {
  const bool in_window = range_at(warp->cluster_shared, warp->cluster_bytes).holds(address, 1) ||
                         is_local(*warp, address) || parameter_range(*warp).holds(address, 1);
  AddressRange range;
  switch (site->space) {
    case ptx::StateSpace::generic: range = generic_range(*warp, address, lane); break;
    case ptx::StateSpace::param: range = parameter_range(*warp); break;
    case ptx::StateSpace::constant:
      if (range_at(warp->constants, warp->constant_bytes).holds(address, 1))
        range = warp->memory->around(address);
      break;
    default:
      if (in_window) {
        raise(warp, FaultKind::wrong_space, site, address, lane);
        return false;
      }
      range = warp->memory->around(address);
      break;
  }
  if (!range.holds(address, site->bytes)) {
    raise(warp, FaultKind::illegal_address, site, address, lane);
    return false;
  }
  // Shared, local and parameter windows differ between blocks and lanes, so their ranges are not cached.
  if (!in_window) warp->ranges[site->index] = warp->known[known_index(address)] = range;
  return true;
}

}  // namespace lynxpp::device::cpu
