// Checks that the lanes of a warp may access the memory that an instruction addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

inline constexpr std::uint32_t all_lanes = 0xffff'ffff;

/// Records a fault of the warp; only the first one is kept.
void raise(WarpContext* warp, FaultKind kind, const AccessSite* site, std::uint64_t address,
           std::uint32_t lane);
/// Likewise; the line is the site's.
void raise(WarpContext* warp, Fault fault);

/// Returns the range that `lane` may access around a generic address: the block's shared memory, the lane's
/// own stack, the kernel's parameters, or global memory. Empty if the address is in none of them.
AddressRange generic_range(const WarpContext& warp, std::uint64_t address, std::uint32_t lane);

/// Finds the range of a host address outside the range of the site's last access. A range of global memory is
/// cached for the site. Raises a fault and returns false if the access is illegal.
bool find_range(WarpContext* warp, const AccessSite* site, std::uint64_t address, std::uint32_t lane);

/// Returns the host address of a shared access that is misaligned or outside the block's own memory: it may
/// be in another block of the cluster if the instruction names shared::cluster. Returns null and raises a
/// fault if the access is illegal.
std::byte* find_in_cluster(WarpContext* warp, const AccessSite* site, std::uint64_t address,
                           std::uint32_t lane, std::uint64_t bytes, std::uint64_t alignment);

/// Checks the accesses, of `size` bytes each, that one warp makes with one instruction.
template <AddressKind kind, std::uint64_t size>
class AccessCheck {
 public:
  AccessCheck(WarpContext* warp, const AccessSite* site) : warp_(warp), site_(site) {
    switch (kind) {
      case AddressKind::host: take_range(); break;
      case AddressKind::shared:
        set_room(warp->shared_bytes);
        base_ = warp->shared;
        break;
      case AddressKind::local:
        set_room(warp->local_stride);
        base_ = warp->local;
        stride_ = warp->local_stride;
        break;
    }
  }

  /// Returns the host address of a lane's access. Returns null and raises a fault if the access is illegal.
  std::byte* place(std::uint64_t address, std::uint32_t lane) {
    if (address - begin_ >= room_ || address % size != 0) [[unlikely]] {
      if constexpr (kind == AddressKind::shared)
        return find_in_cluster(warp_, site_, address, lane, size, size);
      if (!look(address, lane)) return nullptr;
    }
    if constexpr (kind == AddressKind::host) return reinterpret_cast<std::byte*>(address);
    return base_ + lane * stride_ + address;
  }

  /// True if `lanes` lanes may access consecutive elements starting at `address`. Never raises a fault.
  bool may_access(std::uint64_t address, std::uint32_t lanes) const {
    const std::uint64_t others = size * (lanes - 1);
    return address % size == 0 && room_ > others && address - begin_ < room_ - others;
  }

 private:
  void set_room(std::uint64_t bytes) { room_ = bytes >= size ? bytes - size + 1 : 0; }
  void take_range() {
    const AddressRange& last = warp_->ranges[site_->index];
    begin_ = last.begin;
    set_room(last.bytes);
  }
  [[gnu::always_inline]] bool look(std::uint64_t address, std::uint32_t lane) {
    if (address % size != 0) {
      raise(warp_, FaultKind::misaligned_address, site_, address, lane);
      return false;
    }
    if constexpr (kind == AddressKind::host) {
      const AddressRange& known = warp_->known[known_index(address)];
      if (known.holds(address, size) && reaches_global_memory(*site_)) {
        warp_->ranges[site_->index] = known;
        take_range();
        return true;
      }
      if (!find_range(warp_, site_, address, lane)) return false;
      take_range();
      return true;
    } else {
      raise(warp_, FaultKind::illegal_address, site_, address, lane);
      return false;
    }
  }

  WarpContext* const warp_;
  const AccessSite* const site_;
  std::uint64_t begin_ = 0;  ///< accesses that begin in [begin_, begin_ + room_) are legal
  std::uint64_t room_ = 0;
  std::byte* base_ = nullptr;
  std::uint64_t stride_ = 0;
};

}  // namespace lynxpp::device::cpu
