// Inspects machine code assembled by ptxas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace lynxpp {

/// Yields to another group of the warp's lanes; reconvergence at the end of a branch does not wait for lanes
/// that have yielded.
inline constexpr std::uint64_t lane_yield = 0x946;

/// Number of machine instructions with the opcode, in the low twelve bits of their 16 bytes. For 64-bit ELF.
inline std::size_t machine_instructions(const std::string& cubin, std::uint64_t opcode) {
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    if (at + bytes <= cubin.size()) std::memcpy(&value, cubin.data() + at, bytes);
    return value;
  };
  const std::uint64_t sections = number(0x28, 8), size = number(0x3a, 2), count = number(0x3c, 2);
  const std::uint64_t names = number(sections + number(0x3e, 2) * size + 0x18, 8);
  std::size_t found = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t section = sections + i * size;
    if (cubin.compare(names + number(section, 4), 6, ".text.") != 0) continue;
    const std::uint64_t begin = number(section + 0x18, 8), bytes = number(section + 0x20, 8);
    for (std::uint64_t at = begin; at < begin + bytes; at += 16)
      found += (number(at, 8) & 0xfff) == opcode ? 1 : 0;
  }
  return found;
}

}  // namespace lynxpp
