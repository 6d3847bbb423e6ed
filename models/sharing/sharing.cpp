#include "models/sharing/sharing.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace lynxpp::models::sharing {
namespace {

constexpr std::uint64_t nobody = ~std::uint64_t{0};

/// Counters of one word or sector; accesses are grouped by warp, so comparing with the last warp finds new
/// ones.
struct AccessCounters {
  std::uint64_t visits = 0, warps = 0, blocks = 0;
  std::uint64_t last_access = nobody, last_warp = nobody, last_block = nobody;

  void visit(std::uint64_t access, std::uint64_t warp, std::uint64_t block) {
    if (last_access == access) return;
    last_access = access;
    ++visits;
    if (last_warp == warp && last_block == block) return;
    ++warps;
    blocks += last_block == block ? 0 : 1;
    last_warp = warp;
    last_block = block;
  }
};

using CountersByNumber = std::unordered_map<std::uint64_t, AccessCounters>;

struct Visits {
  CountersByNumber words, sectors, read_words;
  std::map<std::uint32_t, SiteUse> uses;
};

Visited summary_of(const CountersByNumber& all) {
  Visited sum;
  for (const auto& [number, counters] : all) {
    ++sum.count;
    sum.visits += counters.visits;
    sum.warps += counters.warps;
    sum.blocks += counters.blocks;
    sum.most_visits = std::max(sum.most_visits, counters.visits);
    sum.most_warps = std::max(sum.most_warps, counters.warps);
    sum.most_blocks = std::max(sum.most_blocks, counters.blocks);
    sum.of_several_blocks += counters.blocks > 1 ? 1 : 0;
  }
  return sum;
}

std::uint64_t sectors_from(std::uint64_t begin, std::uint64_t bytes) {
  return (begin + bytes - 1) / sector_bytes - begin / sector_bytes + 1;
}

class Visitors {
 public:
  Visitors(const Observation& observation, Sharing& result)
      : observation_(observation), result_(result), visits_(observation.arrays.size()) {}

  void add(std::uint32_t number) {
    const WarpAccess& access = observation_.accesses[number];
    std::vector<std::uint64_t> addresses;
    std::size_t last = observation_.arrays.size();
    for (const std::uint64_t address : observation_.addresses_of(access)) {
      const std::size_t array = array_of(address, access.is_shared);
      if (array == observation_.arrays.size()) {
        ++result_.elsewhere;
        continue;
      }
      if (array != last) add_use(access, last, addresses);
      last = array;
      addresses.push_back(address);
      add_lane(access, number, visits_[array], address - observation_.arrays[array].address, address);
    }
    add_use(access, last, addresses);
  }

  void finish() {
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      if (visits_[i].words.empty()) continue;
      const ObservedArray& from = observation_.arrays[i];
      ArraySharing array;
      array.name = from.name;
      array.is_shared = from.is_shared;
      array.bytes = from.bytes;
      array.words = summary_of(visits_[i].words);
      array.sectors = summary_of(visits_[i].sectors);
      array.read_words = summary_of(visits_[i].read_words);
      find_heat(visits_[i].words, array);
      for (const auto& [site, use] : visits_[i].uses) array.uses.push_back(use);
      result_.arrays.push_back(std::move(array));
    }
  }

 private:
  /// Returns arrays.size() if the address is in no array.
  std::size_t array_of(std::uint64_t address, bool is_shared) const {
    const std::vector<ObservedArray>& arrays = observation_.arrays;
    if (last_array_ < arrays.size() && holds(arrays[last_array_], address, is_shared)) return last_array_;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (holds(arrays[i], address, is_shared)) return last_array_ = i;
    }
    return arrays.size();
  }
  static bool holds(const ObservedArray& array, std::uint64_t address, bool is_shared) {
    return array.is_shared == is_shared && address - array.address < array.bytes;
  }

  /// Words are relative to the array's beginning, sectors are absolute.
  void add_lane(const WarpAccess& access, std::uint64_t number, Visits& visits, std::uint64_t offset,
                std::uint64_t address) {
    const bool reads = observation_.sites[access.site].kind == AccessKind::read && !access.writes;
    for (std::uint64_t word = offset / word_bytes; word <= (offset + access.bytes - 1) / word_bytes; ++word) {
      visits.words[word].visit(number, access.warp, access.block);
      if (reads) visits.read_words[word].visit(number, access.warp, access.block);
      ++result_.steps;
    }
    const std::uint64_t end = address + access.bytes - 1;
    for (std::uint64_t sector = address / sector_bytes; sector <= end / sector_bytes; ++sector) {
      visits.sectors[sector].visit(number, access.warp, access.block);
      ++result_.steps;
    }
  }

  /// Processes one execution's addresses in one array, and clears them.
  void add_use(const WarpAccess& access, std::size_t array, std::vector<std::uint64_t>& addresses) {
    if (addresses.empty()) return;
    std::ranges::sort(addresses);
    const auto again = std::ranges::unique(addresses);
    addresses.erase(again.begin(), again.end());
    SiteUse& use = visits_[array].uses[access.site];
    use.site = access.site;
    if (addresses.size() > 1) {
      ++use.executions;
      const std::uint64_t distance = addresses[1] - addresses[0];
      bool is_even = true;
      for (std::size_t i = 1; i < addresses.size(); ++i)
        is_even = is_even && addresses[i] - addresses[i - 1] == distance;
      const std::uint64_t bytes = addresses.size() * access.bytes;
      const std::uint64_t least = (bytes + sector_bytes - 1) / sector_bytes;
      if (is_even && distance == access.bytes && sectors_from(addresses[0], bytes) > least) ++use.misaligned;
      if (is_even && distance > access.bytes) {
        ++use.strided;
        use.stride = std::max(use.stride, distance);
      }
    }
    addresses.clear();
  }

  static void find_heat(const CountersByNumber& words, ArraySharing& array) {
    array.heat_warps.assign(heat_parts, 0);
    array.heat_blocks.assign(heat_parts, 0);
    const std::uint64_t count = std::max<std::uint64_t>((array.bytes + word_bytes - 1) / word_bytes, 1);
    array.hottest_word = nobody;
    for (const auto& [word, counters] : words) {
      const std::size_t part = std::min<std::uint64_t>(word * heat_parts / count, heat_parts - 1);
      array.heat_warps[part] = std::max(array.heat_warps[part], counters.warps);
      array.heat_blocks[part] = std::max(array.heat_blocks[part], counters.blocks);
      if (counters.visits == array.words.most_visits) array.hottest_word = std::min(array.hottest_word, word);
    }
  }

  const Observation& observation_;
  Sharing& result_;
  std::vector<Visits> visits_;  ///< by array
  mutable std::size_t last_array_ = 0;
};

}  // namespace

Sharing sharing_of(const Observation& observation) {
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_block;
  for (const std::uint64_t block : observation.blocks) by_block[block];
  for (std::uint32_t i = 0; i < observation.accesses.size(); ++i) {
    const auto chosen = by_block.find(observation.accesses[i].block);
    if (chosen != by_block.end()) chosen->second.push_back(i);
  }
  Sharing sharing;
  Visitors visitors(observation, sharing);
  for (const std::uint64_t block : observation.blocks) {
    std::vector<std::uint32_t>& accesses = by_block[block];
    std::ranges::stable_sort(accesses, {}, [&](std::uint32_t i) { return observation.accesses[i].warp; });
    for (const std::uint32_t each : accesses) visitors.add(each);
  }
  visitors.finish();
  return sharing;
}

}  // namespace lynxpp::models::sharing
