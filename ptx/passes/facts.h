// Properties of PTX and of the hardware that several passes rely on.
#pragma once

#include <cstdint>

#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {

inline constexpr std::uint32_t word_bits = 32;
inline constexpr std::uint32_t word_bytes = 4;
/// The granularity of device memory transfers.
inline constexpr std::uint32_t sector_bytes = 32;

/// `exit`, `ret`, `trap`.
inline bool is_exit(const Instruction& instruction) { return instruction.traits.kind == OpcodeClass::exit; }

/// True if an access of this size consists of complete 4-byte words.
inline bool is_whole_words(std::uint32_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16; }

inline constexpr std::uint64_t atomic_kind = 2;
/// The value of cod::SiteValue's access kind: 0 reads memory, 1 writes it, 2 is atomic.
inline std::uint64_t access_kind(const MemoryAccess& access) {
  if (!access.reads) return 1;
  return access.writes ? atomic_kind : 0;
}

}  // namespace lynxpp::ptx
