#include "models/cache/cache.h"

#include <algorithm>
#include <span>

namespace lynxpp::models::cache {

Cache::Cache(const CacheTiming& figures)
    : line_(figures.line),
      sector_(figures.sector),
      ways_(figures.ways),
      sets_(figures.bytes / (std::uint64_t{figures.line} * figures.ways)),
      lines_(sets_ * figures.ways) {}

Cache::Outcome Cache::access(std::uint64_t address, bool writes) {
  const std::uint64_t number = address / line_;
  const std::uint32_t sector = 1u << (address % line_ / sector_);
  const std::span<Line> set(lines_.data() + number % sets_ * ways_, ways_);
  Outcome outcome;
  auto found = std::ranges::find_if(
      set, [number](const Line& line) { return line.used != 0 && line.number == number; });
  if (found == set.end()) {
    found = std::ranges::min_element(set, {}, &Line::used);
    outcome.written_back = found->written;
    outcome.victim = found->number * line_;
    *found = {.number = number};
  }
  outcome.hit = (found->present & sector) != 0;
  found->used = ++now_;
  found->present |= sector;
  if (writes) found->written |= sector;
  return outcome;
}

void Cache::clear() { std::ranges::fill(lines_, Line{}); }

}  // namespace lynxpp::models::cache
