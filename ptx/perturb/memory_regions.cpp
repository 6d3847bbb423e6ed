#include "ptx/perturb/memory_regions.h"

#include <algorithm>
#include <bit>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t page_bytes = 4096;

}  // namespace

MemoryRegion region_of(std::uint64_t begin, std::uint64_t bytes, std::uint64_t scratch) {
  if (bytes < page_bytes) return {scratch, scratch_bytes - 1, 0, scratch_bytes / 2};
  // An access offset has 32 bits.
  const std::uint64_t most = std::uint64_t{1} << 32;
  const std::uint64_t used = std::bit_floor(std::min(bytes, most));
  const auto rotated_by = [&](std::uint64_t offset) {
    return static_cast<std::uint32_t>(offset / page_bytes * page_bytes - begin);
  };
  return {begin, static_cast<std::uint32_t>(used - 1), rotated_by(used / 2), rotated_by(used / 4)};
}

std::uint64_t word_of(HiddenSlot::Kind kind, const MemoryRegion& region, std::uint64_t scratch) {
  switch (kind) {
    case HiddenSlot::Kind::allocation_begin: return region.begin;
    case HiddenSlot::Kind::allocation_mask: return region.mask;
    case HiddenSlot::Kind::allocation_rotation:
      return region.rotation | std::uint64_t{region.store_rotation} << 32;
    case HiddenSlot::Kind::zero: return 0;
    case HiddenSlot::Kind::scratch: return scratch;
    case HiddenSlot::Kind::specification:
    case HiddenSlot::Kind::counters:
    case HiddenSlot::Kind::shared_addresses: break;
  }
  LYNXPP_CHECK(false, "not a slot of a perturbation");
  return 0;
}

}  // namespace lynxpp::ptx
