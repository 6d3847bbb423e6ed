// Memory that added operations access, and the words of the hidden parameter that describe it. The caller of
// the variant fills in the words for each launch:
//
//   const MemoryRegion region = region_of(begin, bytes, scratch);     // of the allocation of a pointer
//   words.push_back(word_of(slot.kind, region, scratch));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptx/passes/module/hidden_layout.h"

namespace lynxpp::ptx {

/// Device memory of no particular content that nothing else uses, at a multiple of 256 bytes. Its size is a
/// power of two between the two below.
struct Scratch {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

inline constexpr std::uint32_t least_scratch_bytes = 4U << 20;
inline constexpr std::uint32_t most_scratch_bytes = 256U << 20;

/// Returns the size of a buffer in which added stores meet in a sector only where the program's do: that of
/// the largest allocation, rounded up to a power of two, within the limits above.
std::uint32_t scratch_bytes_for(std::uint64_t largest_allocation);

/// A region that an added load stays in, whatever address the program uses: it accesses
///   begin + ((address + rotation) & mask)
/// which is as far from other lanes' addresses as the program's access is, in another part of the allocation.
struct MemoryRegion {
  std::uint64_t begin = 0;
  std::uint32_t mask = 0;
  std::uint32_t rotation = 0;
};

/// Allocations and variables below this size are not worth another part.
inline constexpr std::uint64_t least_region_bytes = 4096;

/// Returns the region in the allocation: its largest leading part that is a power of two, rotated by half.
/// Uses the scratch buffer instead if the allocation is smaller than `least_region_bytes`, or unknown (0
/// bytes).
MemoryRegion region_of(std::uint64_t begin, std::uint64_t bytes, const Scratch& scratch);

// The maps of Operation::bytes: HiddenSlot::Kind::results is the address of two maps, bytes read and bytes
// written, that begin with 0.

inline constexpr std::uint32_t most_map_bytes = 128U << 20;

/// Memory that a kernel accesses.
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};
/// The size of one map, and whether each byte of the memory has a bit of its own.
struct MapSize {
  std::uint32_t bytes = 0;
  bool is_exact = false;
};
/// Returns the least size that is exact, or else the greatest size.
MapSize map_size_for(std::span<const MemoryRange> memory);

/// Bytes that a kernel reads but does not write, the other way round, and those that it reads and writes:
/// they may be intermediate results, which need no memory. Bytes that share a bit count once: `read` and
/// `written` are lower bounds.
struct BytesMoved {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t both = 0;
};
BytesMoved bytes_moved(std::span<const std::byte> maps);

/// Returns the value of a slot. `region` is that of the slot's pointer (HiddenSlot::index); it is unused for
/// other slots. Precondition: a kind that a perturbation adds.
std::uint64_t word_of(HiddenSlot::Kind kind, const MemoryRegion& region, const Scratch& scratch);

}  // namespace lynxpp::ptx
