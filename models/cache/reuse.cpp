#include "models/cache/reuse.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lynxpp::models::cache {
namespace {

constexpr std::size_t least_positions = 64;

/// Scrambles set numbers, so that the sampled sets have no stride.
std::uint64_t spread(std::uint64_t set) { return (set + 1) * 0x9e37'79b9'7f4a'7c15 >> 32; }

}  // namespace

std::optional<std::uint64_t> ReuseDistances::access(std::uint64_t line) {
  if (next_ == marks_.size()) renumber();
  std::optional<std::uint64_t> distance;
  const auto [entry, is_new] = last_.try_emplace(line, next_);
  if (!is_new) {
    distance = last_.size() - marks_until(entry->second);
    mark(entry->second, -1);
    entry->second = next_;
  }
  mark(next_++, 1);
  return distance;
}

std::uint64_t ReuseDistances::marks_until(std::size_t position) const {
  std::int64_t sum = 0;
  for (; position != 0; position &= position - 1) sum += marks_[position];
  return static_cast<std::uint64_t>(sum);
}

void ReuseDistances::mark(std::size_t position, std::int64_t change) {
  for (; position < marks_.size(); position += position & -position) marks_[position] += change;
}

/// Renumbers the positions in use consecutively, preserving their order.
void ReuseDistances::renumber() {
  std::vector<std::pair<std::size_t, std::uint64_t>> order;
  order.reserve(last_.size());
  for (const auto& [line, position] : last_) order.emplace_back(position, line);
  std::ranges::sort(order);
  marks_.assign(std::max(least_positions, 2 * order.size()) + 1, 0);
  next_ = 1;
  for (const auto& [position, line] : order) {
    last_[line] = next_;
    mark(next_++, 1);
  }
}

std::uint64_t ReuseCounts::accesses() const {
  return std::accumulate(distances.begin(), distances.end(), first + stores);
}

std::uint64_t ReuseCounts::hits(std::uint64_t ways) const {
  const auto end =
      distances.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(ways, distances.size()));
  return std::accumulate(distances.begin(), end, stores);
}

ReuseCounts& ReuseCounts::operator+=(const ReuseCounts& other) {
  first += other.first;
  first_sectors += other.first_sectors;
  stores += other.stores;
  if (distances.size() < other.distances.size()) distances.resize(other.distances.size());
  for (std::size_t i = 0; i < other.distances.size(); ++i) distances[i] += other.distances[i];
  return *this;
}

SampledReuse::SampledReuse(const CacheTiming& figures, std::uint32_t every)
    : line_(figures.line),
      sector_(figures.sector != 0 ? figures.sector : figures.line),
      sets_(figures.bytes / (std::uint64_t{figures.line} * figures.ways)) {
  for (std::uint64_t set = 0; set < sets_; ++set) {
    if (every <= 1 || spread(set) % every == 0) sampled_.try_emplace(set);
  }
  if (sampled_.empty()) sampled_.try_emplace(0);
}

void SampledReuse::access(std::uint64_t address, bool is_store) {
  const std::uint64_t line = address / line_;
  const auto set = sampled_.find(line % sets_);
  if (set == sampled_.end()) return;
  const bool is_first = sectors_.insert(address / sector_).second;
  const std::optional<std::uint64_t> distance = set->second.access(line);
  if (is_store) {
    ++counts_.stores;
    return;
  }
  if (is_first) ++counts_.first_sectors;
  if (!distance) {
    ++counts_.first;
    return;
  }
  if (counts_.distances.size() <= *distance) counts_.distances.resize(*distance + 1);
  ++counts_.distances[*distance];
}

void SampledReuse::clear() {
  for (auto& [set, distances] : sampled_) distances = {};
  sectors_.clear();
  counts_ = {};
}

}  // namespace lynxpp::models::cache
