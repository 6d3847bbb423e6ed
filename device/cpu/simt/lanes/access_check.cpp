#include "device/cpu/simt/lanes/access_check.h"

#include "device/cpu/simt/check/block_check.h"

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

/// Of any lane.
bool is_local(const WarpContext& warp, std::uint64_t address) {
  return range_at(warp.local, warp.local_stride * warp_size).holds(address, 1);
}

}  // namespace

void raise(WarpContext* warp, FaultKind kind, const AccessSite* site, std::uint64_t address,
           std::uint32_t lane) {
  if (warp->check != nullptr) note_fault(warp, {kind, site->line, lane, address, site});
  if (warp->fault.kind == FaultKind::none) warp->fault = {kind, site->line, lane, address, site};
}

AddressRange generic_range(const WarpContext& warp, std::uint64_t address, std::uint32_t lane) {
  for (const AddressRange& own : {shared_range(warp), local_range(warp, lane), parameter_range(warp)}) {
    if (own.holds(address, 1)) return own;
  }
  return warp.memory->around(address);
}

bool find_range(WarpContext* warp, const AccessSite* site, std::uint64_t address, std::uint32_t lane) {
  const bool in_window = shared_range(*warp).holds(address, 1) || is_local(*warp, address) ||
                         parameter_range(*warp).holds(address, 1);
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
  // Windows differ from block to block and from lane to lane.
  if (!in_window) warp->ranges[site->index] = warp->known[known_index(address)] = range;
  return true;
}

}  // namespace lynxpp::device::cpu
