#include "cod/word_map.h"

#include <algorithm>

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t pages_of_region = std::uint64_t{1} << (WordMap::region_bits - WordMap::page_bits);

/// A half-open range of pages.
struct Stretch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t used = 0;   ///< pages that overlap a range
  std::uint64_t bytes = 0;  ///< total size of the ranges
};

/// Ascending and not adjacent.
std::vector<Stretch> stretches_of(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges) {
  std::vector<Stretch> stretches;
  for (const auto& [begin, bytes] : ranges) {
    if (bytes == 0) continue;
    const std::uint64_t first = begin >> WordMap::page_bits;
    const std::uint64_t end = ((begin + bytes - 1) >> WordMap::page_bits) + 1;
    if (stretches.empty() || first > stretches.back().end) stretches.push_back({first, first, 0, 0});
    Stretch& last = stretches.back();
    last.used += end - std::min(end, last.end);
    last.end = std::max(last.end, end);
    last.bytes += bytes;
  }
  return stretches;
}

/// Returns the stretch that covers most of the memory. It includes gaps if their elements are worth the
/// memory: no more gap pages than used pages, at most 4 MiB. Gaps of one page are always included, because
/// margins must be unused.
Stretch find_window(const std::vector<Stretch>& stretches) {
  constexpr std::uint64_t most_gap = 32;    // pages: what a driver leaves free after a small allocation
  constexpr std::uint64_t most_spare = 64;  // likewise
  Stretch best, now;
  for (const Stretch& each : stretches) {
    const std::uint64_t gap = each.begin - now.end;
    const std::uint64_t unused = each.end - now.begin - now.used - each.used;
    const bool goes_on =
        now.used != 0 && (gap < 2 || (gap <= most_gap && unused <= now.used + each.used + most_spare));
    now = goes_on ? Stretch{now.begin, each.end, now.used + each.used, now.bytes + each.bytes} : each;
    if (now.bytes > best.bytes) best = now;
  }
  return best;
}

}  // namespace

WordMap::WordMap(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges) {
  std::ranges::sort(ranges);
  const std::vector<Stretch> stretches = stretches_of(ranges);
  const std::uint64_t first = stretches.empty() ? 0 : stretches.front().begin / pages_of_region;
  const std::uint64_t regions =
      stretches.empty() ? 0 : (stretches.back().end - 1) / pages_of_region - first + 1;
  entries_.assign(header_entries + regions, none);
  entries_[0] = static_cast<std::uint32_t>(first);
  entries_[1] = 0;
  entries_[2] = static_cast<std::uint32_t>(regions);
  entries_[3] = 0;
  if (regions == 0) return;
  const Stretch window = find_window(stretches);
  window_ = {window.begin << page_bits, (window.end - window.begin) << page_bits};
  ++pages_;
  for (std::uint64_t page = window.begin; page < window.end; ++page) number(page);
  ++pages_;
  for (const Stretch& each : stretches) {
    if (each.begin >= window.begin && each.begin < window.end) continue;
    for (std::uint64_t page = each.begin; page < each.end; ++page) number(page);
  }
}

/// Assigns the next element to the page's first word.
void WordMap::number(std::uint64_t page) {
  const std::uint64_t region = header_entries + page / pages_of_region - entries_[0];
  if (entries_[region] == none) {
    entries_[region] = static_cast<std::uint32_t>(entries_.size() - header_entries);
    entries_.resize(entries_.size() + pages_of_region, none);
  }
  entries_[header_entries + entries_[region] + page % pages_of_region] = static_cast<std::uint32_t>(pages_++);
}

std::uint64_t WordMap::word(std::uint32_t part, std::uint64_t address) const {
  switch (part) {
    case part_window_begin: return window_.begin;
    case part_window_bytes: return window_.bytes;
    default: return address;
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
