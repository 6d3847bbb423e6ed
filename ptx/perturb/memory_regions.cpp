#include "ptx/perturb/memory_regions.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "support/check.h"

namespace lynxpp::ptx {

std::uint32_t scratch_bytes_for(std::uint64_t largest_allocation) {
  return std::bit_ceil(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      largest_allocation, std::uint64_t{least_scratch_bytes}, std::uint64_t{most_scratch_bytes})));
}

namespace {

/// True if no two bytes have equal addresses modulo `size`.
bool fits(std::span<const MemoryRange> memory, std::uint64_t size) {
  std::vector<MemoryRange> parts;
  for (const MemoryRange& each : memory) {
    if (each.bytes > size) return false;
    const std::uint64_t begin = each.begin % size, before_end = std::min(each.bytes, size - begin);
    parts.push_back({begin, before_end});
    if (before_end < each.bytes) parts.push_back({0, each.bytes - before_end});
  }
  std::ranges::sort(parts, {}, &MemoryRange::begin);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i - 1].begin + parts[i - 1].bytes > parts[i].begin) return false;
  }
  return true;
}

}  // namespace

MapSize map_size_for(std::span<const MemoryRange> memory) {
  constexpr std::uint64_t bytes_of_map_byte = 8;  // a byte of the map represents eight bytes of memory
  for (auto bytes = static_cast<std::uint32_t>(least_region_bytes); bytes <= most_map_bytes; bytes *= 2) {
    if (fits(memory, bytes_of_map_byte * bytes)) return {bytes, !memory.empty()};
  }
  return {most_map_bytes, false};
}

BytesMoved bytes_moved(std::span<const std::byte> maps) {
  BytesMoved moved;
  const std::size_t half = maps.size() / 2;
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= half; at += sizeof(std::uint64_t)) {
    std::uint64_t read = 0, written = 0;
    std::memcpy(&read, maps.data() + at, sizeof read);
    std::memcpy(&written, maps.data() + half + at, sizeof written);
    moved.read += static_cast<std::uint64_t>(std::popcount(read & ~written));
    moved.written += static_cast<std::uint64_t>(std::popcount(written & ~read));
    moved.both += static_cast<std::uint64_t>(std::popcount(written & read));
  }
  return moved;
}

MemoryRegion region_of(std::uint64_t begin, std::uint64_t bytes, const Scratch& scratch) {
  if (bytes < least_region_bytes) return {scratch.address, static_cast<std::uint32_t>(scratch.bytes - 1), 0};
  // An access offset has 32 bits.
  const std::uint64_t most = std::uint64_t{1} << 32;
  const std::uint64_t used = std::bit_floor(std::min(bytes, most));
  const std::uint64_t half = used / 2 / least_region_bytes * least_region_bytes;
  return {begin, static_cast<std::uint32_t>(used - 1), static_cast<std::uint32_t>(half - begin)};
}

std::uint64_t word_of(HiddenSlot::Kind kind, const MemoryRegion& region, const Scratch& scratch) {
  switch (kind) {
    case HiddenSlot::Kind::allocation_begin: return region.begin;
    case HiddenSlot::Kind::allocation_mask: return region.mask;
    case HiddenSlot::Kind::allocation_rotation: return region.rotation;
    case HiddenSlot::Kind::zero: return 0;
    case HiddenSlot::Kind::scratch: return scratch.address;
    case HiddenSlot::Kind::scratch_mask: return scratch.bytes - 1;
    case HiddenSlot::Kind::specification:
    case HiddenSlot::Kind::counters:
    case HiddenSlot::Kind::results:
    case HiddenSlot::Kind::map_mask:
    case HiddenSlot::Kind::shared_addresses: break;
  }
  LYNXPP_CHECK(false, "not a slot of a perturbation");
  return 0;
}

}  // namespace lynxpp::ptx
