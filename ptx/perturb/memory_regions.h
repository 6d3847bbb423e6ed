// Memory that added operations access, and the words of the hidden parameter that describe it. The caller of
// the variant fills in the words for each launch:
//
//   const MemoryRegion region = region_of(begin, bytes, scratch);     // of the allocation of a pointer
//   words.push_back(word_of(slot.kind, region, scratch));
#pragma once

#include <cstdint>

#include "ptx/passes/module/hidden_layout.h"

namespace lynxpp::ptx {

/// Size of the buffer whose address HiddenSlot::Kind::scratch passes: device memory of no particular content,
/// at a multiple of 256 bytes. A power of two.
inline constexpr std::uint32_t scratch_bytes = 4U << 20;

/// A region that an added access stays in, whatever address the program uses: it accesses
///   begin + ((address + rotation) & mask)
/// which is as far from other lanes' addresses as the program's access is, in another part of the allocation.
struct MemoryRegion {
  std::uint64_t begin = 0;
  std::uint32_t mask = 0;
  std::uint32_t rotation = 0;
  std::uint32_t store_rotation = 0;  ///< for a load that repeats a store, which may be to a loaded address
};

/// Returns the region in the allocation: its largest leading part that is a power of two, rotated by half.
/// Uses the scratch buffer instead if the allocation is smaller than a page of 4 KiB, or unknown (0 bytes).
MemoryRegion region_of(std::uint64_t begin, std::uint64_t bytes, std::uint64_t scratch);

/// Returns the value of a slot. `region` is that of the slot's pointer (HiddenSlot::index); it is unused for
/// `scratch` and `zero`. Precondition: a kind that a perturbation adds.
std::uint64_t word_of(HiddenSlot::Kind kind, const MemoryRegion& region, std::uint64_t scratch);

}  // namespace lynxpp::ptx
