// Addresses of the shared memory of a thread block cluster (`shared::cluster`), which has a window for each
// block.
//
// A 32-bit address holds the block's rank plus 1 in its upper 8 bits and the offset into that block's shared
// memory in the lower bits. If the upper bits are 0, the address is in the accessing block's own memory, as
// every `shared::cta` address is. The shared memory of all blocks is contiguous on the host, so that a range
// check recognizes its generic addresses.
#pragma once

#include <cstdint>
#include <optional>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

inline constexpr unsigned cluster_offset_bits = 24;
inline constexpr std::uint64_t cluster_offset_mask = (std::uint64_t{1} << cluster_offset_bits) - 1;
inline constexpr std::uint32_t most_cluster_blocks = 16;
inline constexpr std::uint32_t most_portable_cluster_blocks = 8;

inline std::uint64_t cluster_address(std::uint32_t rank, std::uint64_t offset) {
  return (std::uint64_t{rank} + 1) << cluster_offset_bits | (offset & cluster_offset_mask);
}

/// Returns the rank in a shared address, even if the cluster has no such block.
inline std::uint32_t rank_of_shared(const WarpContext& warp, std::uint64_t address) {
  const auto above = static_cast<std::uint32_t>(address >> cluster_offset_bits);
  return above == 0 ? warp.cluster_ctarank : above - 1;
}

/// Returns the host address of a shared access; null if the cluster has no such block or its memory is too
/// small.
inline std::byte* cluster_host_address(const WarpContext& warp, std::uint64_t address, std::uint64_t bytes) {
  const std::uint32_t rank = rank_of_shared(warp, address);
  const std::uint64_t offset = address & cluster_offset_mask;
  if (rank >= warp.cluster_nctarank || !AddressRange{0, warp.shared_bytes}.holds(offset, bytes))
    return nullptr;
  return warp.cluster_shared + rank * warp.cluster_stride + offset;
}

/// Returns the rank of the block whose shared memory holds a generic address; nullopt if none does.
inline std::optional<std::uint32_t> rank_of_generic(const WarpContext& warp, std::uint64_t address) {
  const std::uint64_t from_first = address - reinterpret_cast<std::uintptr_t>(warp.cluster_shared);
  if (from_first >= warp.cluster_bytes || from_first % warp.cluster_stride >= warp.shared_bytes)
    return std::nullopt;
  return static_cast<std::uint32_t>(from_first / warp.cluster_stride);
}

/// Returns the generic address of a block's shared memory.
inline std::uint64_t generic_shared(const WarpContext& warp, std::uint32_t rank) {
  return reinterpret_cast<std::uintptr_t>(warp.cluster_shared) + rank * warp.cluster_stride;
}

}  // namespace lynxpp::device::cpu
