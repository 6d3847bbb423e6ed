// Sections of a 64-bit little-endian ELF file; every offset and size is checked against the size of the
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "image/bytes.h"
#include "support/result.h"

namespace lynxpp::image {

inline constexpr std::uint32_t elf_section_of_notes = 7;
inline constexpr std::uint32_t elf_section_without_bits = 8;
inline constexpr std::uint64_t elf_section_is_compressed = 0x800;

/// One section; views point into the file.
struct ElfSection {
  std::string_view name;  ///< empty if the name is out of bounds
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::optional<Bytes> content;  ///< nullopt if the file ends before the section does, or if it has no bits
};

/// Returns all sections in table order; empty if the file has no table. Fails if the header, the table or the
/// section of names is damaged.
Result<std::vector<ElfSection>> elf_sections(Bytes file);

}  // namespace lynxpp::image
