#include "image/elf.h"

namespace lynxpp::image {
namespace {

constexpr std::uint16_t smallest_section_header = 64;
constexpr std::uint16_t index_is_elsewhere = 0xffff;  // in the first section header, as for a count of 0

/// Returns the string at `offset` in a string table.
std::string_view name_at(Bytes table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(table.data()) + offset, table.size() - offset);
  return rest.substr(0, rest.find('\0'));
}

std::optional<Bytes> content_of(Bytes file, Bytes header) {
  if (*load<std::uint32_t>(header, 4) == elf_section_without_bits) return std::nullopt;
  return slice(file, *load<std::uint64_t>(header, 24), *load<std::uint64_t>(header, 32));
}

}  // namespace

Result<std::vector<ElfSection>> elf_sections(Bytes file) {
  const auto magic = load<std::uint32_t>(file, 0);
  const auto elf_class = load<std::uint8_t>(file, 4);
  const auto table_offset = load<std::uint64_t>(file, 40);
  const auto header_size = load<std::uint16_t>(file, 58);
  std::uint64_t count = load<std::uint16_t>(file, 60).value_or(0);
  const auto short_names_index = load<std::uint16_t>(file, 62);
  if (!short_names_index || *magic != elf_magic || *elf_class != 2)
    return failure("not a complete 64-bit ELF file");
  if (*table_offset == 0) return std::vector<ElfSection>{};
  if (*header_size < smallest_section_header) {
    if (count == 0) return std::vector<ElfSection>{};
    return failure("the ELF section table is damaged");
  }
  std::uint64_t names_index = *short_names_index;
  if (const auto first = slice(file, *table_offset, smallest_section_header)) {
    if (count == 0) count = *load<std::uint64_t>(*first, 32);
    if (names_index == index_is_elsewhere) names_index = *load<std::uint32_t>(*first, 40);
  }
  if (count == 0) return std::vector<ElfSection>{};
  if (count > file.size()) return failure("the ELF section table is damaged");
  const auto table = slice(file, *table_offset, *header_size * count);
  if (!table || names_index >= count) return failure("the ELF section table is damaged");
  const auto header = [&](std::uint64_t index) {
    return table->subspan(index * *header_size, smallest_section_header);
  };
  const auto names = content_of(file, header(names_index));
  if (!names) return failure("the ELF section names are damaged");
  std::vector<ElfSection> sections;
  sections.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bytes each = header(i);
    sections.push_back({name_at(*names, *load<std::uint32_t>(each, 0)), *load<std::uint32_t>(each, 4),
                        *load<std::uint64_t>(each, 8), content_of(file, each)});
  }
  return sections;
}

}  // namespace lynxpp::image
