// What several passes take for granted of PTX and of the hardware.
#pragma once

#include <cstdint>

#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {

inline constexpr std::uint32_t word_bits = 32;
inline constexpr std::uint32_t word_bytes = 4;
/// What device memory is read and written by.
inline constexpr std::uint32_t sector_bytes = 32;

/// `exit`, `ret`, `trap`.
inline bool is_exit(const Instruction& instruction) { return instruction.traits.kind == OpcodeClass::exit; }

/// Whether accesses of that many bytes are of whole words.
inline bool is_whole_words(std::uint32_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16; }

inline constexpr std::uint64_t atomic_kind = 2;
/// As in cod::SiteValue: 0 reads memory, 1 writes it, 2 is atomic.
inline std::uint64_t access_kind(const MemoryAccess& access) {
  if (!access.reads) return 1;
  return access.writes ? atomic_kind : 0;
}

}  // namespace lynxpp::ptx
