#include "cod/word_map.h"

#include <algorithm>

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t pages_of_region = std::uint64_t{1} << (WordMap::region_bits - WordMap::page_bits);

}  // namespace

WordMap::WordMap(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges) {
  std::ranges::sort(ranges);
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (const auto& [begin, bytes] : ranges) {
    if (bytes == 0) continue;
    first = std::min(first, begin >> region_bits);
    last = std::max(last, (begin + bytes - 1) >> region_bits);
  }
  const std::uint64_t regions = first > last ? 0 : last - first + 1;
  entries_.assign(header_entries + regions, none);
  const std::uint64_t origin = regions == 0 ? 0 : first;
  entries_[0] = static_cast<std::uint32_t>(origin);
  entries_[1] = 0;
  entries_[2] = static_cast<std::uint32_t>(regions);
  entries_[3] = 0;
  for (const auto& [begin, bytes] : ranges) {
    if (bytes == 0) continue;
    for (std::uint64_t page = begin >> page_bits; page <= (begin + bytes - 1) >> page_bits; ++page) {
      const std::uint64_t region = page / pages_of_region - origin;
      if (entries_[header_entries + region] == none) {
        entries_[header_entries + region] = static_cast<std::uint32_t>(entries_.size() - header_entries);
        entries_.resize(entries_.size() + pages_of_region, none);
      }
      std::uint32_t& entry =
          entries_[header_entries + entries_[header_entries + region] + page % pages_of_region];
      if (entry == none) entry = static_cast<std::uint32_t>(pages_++);
    }
  }
}

std::optional<std::uint64_t> WordMap::element_of(std::uint64_t address) const {
  const std::uint64_t region = (address >> region_bits) - entries_[0];
  if (region >= entries_[2]) return std::nullopt;
  const std::uint32_t table = entries_[header_entries + region];
  if (table == none) return std::nullopt;
  const std::uint32_t page = entries_[header_entries + table + (address >> page_bits) % pages_of_region];
  if (page == none) return std::nullopt;
  constexpr std::uint64_t page_words = std::uint64_t{1} << (page_bits - 2);
  return page * page_words + (address >> 2) % page_words;
}

}  // namespace lynxpp::cod
