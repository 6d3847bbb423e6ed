#include "models/cumapz/observation.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "models/cumapz/block_cache.h"
#include "models/cumapz/transactions.h"

namespace lynxpp::models::cumapz {
namespace {

using Lanes = std::vector<std::int64_t>;  // addresses of lanes that are served together

std::uint32_t shared_bytes_of(const Observation& observation) {
  std::uint64_t bytes = 0;
  for (const ObservedArray& each : observation.arrays) bytes += each.is_shared ? each.bytes : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 1u << 30));
}

/// Tracks the bytes of a block's shared memory that hold fetched data.
class FetchedBytes {
 public:
  bool holds(std::uint64_t address) const { return address < held_.size() && held_[address]; }
  void set(std::uint64_t address, std::uint32_t bytes, bool value) {
    constexpr std::uint64_t most = 1 << 20;  // larger than any multiprocessor's
    if (address + bytes > most) return;
    if (address + bytes > held_.size()) held_.resize(address + bytes);
    std::fill_n(held_.begin() + static_cast<std::ptrdiff_t>(address), bytes, value);
  }

 private:
  std::vector<bool> held_;
};

/// A warp's current execution of a reference: the lanes that have reached it.
struct WarpVisit {
  std::uint32_t lanes = 0;
  std::set<std::uint32_t> sites;
  bool found = false, missed = false;
};

/// Processes one block after the other, its accesses in order.
class ObservedBlocks {
 public:
  ObservedBlocks(const Observation& observation, const Machine& machine, ObservedTotals& result)
      : observation_(observation),
        machine_(machine),
        result_(result),
        cache_(machine, result.totals.occupancy, shared_bytes_of(observation)),
        is_fetch_(observation.sites.size()),
        number_(observation.sites.size(), AccessSite::none) {
    for (std::uint32_t i = 0; i < observation.arrays.size(); ++i) {
      if (!observation.arrays[i].is_shared) by_address_.push_back(i);
    }
    std::ranges::sort(by_address_, {}, [&](std::uint32_t i) { return observation.arrays[i].address; });
    for (const AccessSite& site : observation.sites) {
      if (site.fetched_by != AccessSite::none) is_fetch_[reference_of(site.fetched_by)] = true;
    }
  }

  void run(std::span<const std::uint32_t> accesses) {
    fetched_ = {};
    loaded_.clear();
    visits_.clear();
    cache_.clear();
    fetches_ = reads_ = false;
    for (const std::uint32_t each : accesses) add(observation_.accesses[each]);
    ++result_.totals.blocks_run;
  }

 private:
  std::uint32_t reference_of(std::uint32_t site) const { return observation_.sites[site].reference; }

  ReferenceTotals& totals_of(std::uint32_t site) {
    const std::uint32_t reference = reference_of(site);
    std::vector<ReferenceTotals>& all = result_.totals.references;
    if (number_[reference] == AccessSite::none) {
      number_[reference] = static_cast<std::uint32_t>(all.size());
      all.emplace_back();
      result_.sites.push_back(reference);
      const AccessSite& first = observation_.sites[reference];
      all.back().position.line = first.line;
      all.back().text = first.opcode;
      all.back().kind = is_fetch_[reference]             ? Statement::Kind::fetch
                        : first.kind == AccessKind::read ? Statement::Kind::read
                                                         : Statement::Kind::write;
    }
    return all[number_[reference]];
  }

  void add(const WarpAccess& access) {
    result_.steps += access.lane_count();
    ++result_.executions;
    if (access.lane_count() < threads_of(access.warp)) ++result_.partial;
    result_.arithmetic.instructions += access.arithmetic;
    const AccessSite& site = observation_.sites[access.site];
    if (!access.is_shared) {
      ++result_.arithmetic.accesses;
      return add_global(access);
    }
    const bool is_fetch = site.fetched_by != AccessSite::none && access.writes;
    is_fetch ? add_fetch(access, site.fetched_by) : add_shared(access);
  }

  unsigned threads_of(std::uint32_t warp) const {
    const std::uint32_t before = warp * machine_.warp_size;
    const std::uint32_t threads = observation_.block_threads();
    return threads <= before ? 0 : std::min(threads - before, machine_.warp_size);
  }

  /// Calls `visit(lane, address)`.
  template <typename Use>
  void for_each_lane(const WarpAccess& access, Use visit) const {
    std::size_t next = access.first;
    for (std::uint32_t left = access.lanes; left != 0; left &= left - 1)
      visit(static_cast<std::uint32_t>(std::countr_zero(left)), observation_.addresses[next++]);
  }

  /// Calls `serve(addresses)` for the lanes of each access group.
  template <typename Serve>
  void for_each_group(const WarpAccess& access, Serve serve) {
    Lanes group;
    std::uint32_t current = 0;
    for_each_lane(access, [&](std::uint32_t lane, std::uint64_t address) {
      if (lane / machine_.access_group != current && !group.empty()) serve(group), group.clear();
      current = lane / machine_.access_group;
      group.push_back(static_cast<std::int64_t>(address));
    });
    if (!group.empty()) serve(group);
  }

  void add_global(const WarpAccess& access) {
    ReferenceTotals& totals = totals_of(access.site);
    totals.accesses += access.lane_count();
    ++totals.global.requests;
    ask_caches(access, totals.global);
    for_each_group(access, [&](const Lanes& lanes) {
      for (const Transaction& each : transactions(machine_.global, lanes, access.bytes)) {
        totals.global.transferred_bytes += each.bytes;
        ++totals.global.transactions;
      }
      totals.global.requested_bytes += distinct(lanes) * access.bytes;
    });
    if (is_fetch_[reference_of(access.site)]) {
      for_each_lane(access, [&](std::uint32_t lane, std::uint64_t) {
        loaded_.insert(key_of(access.site, access.warp * machine_.warp_size + lane));
      });
      ++totals.warps;
      return;
    }
    visit(access, totals, false);
  }

  /// Lanes of one warp are in one array, except in memory that the program does not own.
  void ask_caches(const WarpAccess& access, GlobalTraffic& traffic) {
    const std::uint32_t array = array_at(observation_.addresses[access.first]);
    const bool is_read = observation_.sites[access.site].kind == AccessKind::read;
    for_each_group(access, [&](const Lanes& lanes) {
      if (is_read) {
        cache_.load(traffic, result_.totals.read[array], array, lanes, access.bytes, 1);
      } else {
        BlockCache::store(traffic, result_.totals.written[array], lanes, access.bytes, 1);
      }
    });
    if (!is_read) return;
    bool& is_waited_for = is_fetch_[reference_of(access.site)] ? fetches_ : reads_;
    if (!std::exchange(is_waited_for, true)) ++result_.totals.waits;
  }

  /// Returns the index in Observation::arrays; one past the end if the address is in no array.
  std::uint32_t array_at(std::uint64_t address) const {
    const std::vector<ObservedArray>& arrays = observation_.arrays;
    const auto after = std::ranges::upper_bound(by_address_, address, {},
                                                [&](std::uint32_t i) { return arrays[i].address; });
    const bool is_inside = after != by_address_.begin() &&
                           address - arrays[*std::prev(after)].address < arrays[*std::prev(after)].bytes;
    return is_inside ? *std::prev(after) : static_cast<std::uint32_t>(arrays.size());
  }

  /// Processes the store of a fetch. A lane that has not loaded since its last store stores something else.
  void add_fetch(const WarpAccess& access, std::uint32_t source) {
    serve_shared(access, totals_of(source));
    for_each_lane(access, [&](std::uint32_t lane, std::uint64_t address) {
      const bool has_loaded = loaded_.erase(key_of(source, access.warp * machine_.warp_size + lane)) != 0;
      fetched_.set(address, access.bytes, has_loaded);
    });
  }

  void add_shared(const WarpAccess& access) {
    ReferenceTotals& totals = totals_of(access.site);
    serve_shared(access, totals);
    if (!access.writes) fetches_ = false;
    std::int64_t hits = 0;
    for_each_lane(access, [&](std::uint32_t, std::uint64_t address) { hits += fetched_.holds(address); });
    totals.accesses += hits;
    totals.hits += hits;
    totals.reused_bytes += hits * access.bytes;
    visit(access, totals, true);
  }

  void serve_shared(const WarpAccess& access, ReferenceTotals& totals) {
    for_each_group(access, [&](const Lanes& lanes) {
      ++totals.shared.requests;
      totals.shared.served += serialised(machine_.shared, lanes, access.bytes);
    });
  }

  /// Lanes at other sites of the reference, disjoint from the previous ones, join the same execution.
  void visit(const WarpAccess& access, ReferenceTotals& totals, bool found) {
    WarpVisit& visit = visits_[key_of(reference_of(access.site), access.warp)];
    if ((visit.lanes & access.lanes) != 0 || visit.sites.contains(access.site) || visit.lanes == 0) {
      visit = {};
      ++totals.warps;
    }
    const bool was_divided = visit.found && visit.missed;
    visit.lanes |= access.lanes;
    visit.sites.insert(access.site);
    (found ? visit.found : visit.missed) = true;
    if (visit.found && visit.missed && !was_divided) ++totals.diverged;
  }

  static std::int64_t distinct(Lanes lanes) {
    std::ranges::sort(lanes);
    return std::ranges::unique(lanes).begin() - lanes.begin();
  }
  static std::uint64_t key_of(std::uint32_t site, std::uint32_t of_block) {
    return std::uint64_t{site} << 32 | of_block;
  }

  const Observation& observation_;
  const Machine& machine_;
  ObservedTotals& result_;
  BlockCache cache_;
  std::vector<std::uint32_t> by_address_;  ///< arrays in device memory
  bool fetches_ = false, reads_ = false;   ///< pending and completed waits of the block for global memory
  std::vector<bool> is_fetch_;             ///< by reference
  std::vector<std::uint32_t> number_;      ///< index of a reference in Totals::references
  FetchedBytes fetched_;
  std::set<std::uint64_t> loaded_;  ///< by site and thread: a loaded value that is not stored yet
  std::unordered_map<std::uint64_t, WarpVisit> visits_;  ///< by reference and warp
};

std::int64_t largest_element(const Observation& observation) {
  std::int64_t largest = 1;
  for (const WarpAccess& each : observation.accesses) {
    if (!each.is_shared) largest = std::max<std::int64_t>(largest, each.bytes);
  }
  return largest;
}

/// Determines the channels that the blocks that start together access, by reference.
void check_channels(const Observation& observation, const Machine& machine, ObservedTotals& result) {
  const GlobalMemory& memory = machine.global;
  if (memory.channel_width == 0 || memory.channels < 2) return;
  const std::int64_t blocks =
      blocks_to_check(machine, result.totals.occupancy, observation.block[0], largest_element(observation));
  result.totals.blocks_checked = blocks;
  if (static_cast<std::int64_t>(observation.grid_blocks()) < blocks) return;
  result.has_first_blocks = observation.first_blocks >= static_cast<std::uint64_t>(blocks);
  if (!result.has_first_blocks) return;
  std::map<std::uint32_t, std::set<std::pair<std::uint64_t, std::uint32_t>>> touched;  // (block, channel)
  std::map<std::uint32_t, ChannelUse> uses;
  for (const WarpAccess& access : observation.accesses) {
    if (access.is_shared || access.block >= static_cast<std::uint64_t>(blocks)) continue;
    const std::uint32_t reference = observation.sites[access.site].reference;
    ChannelUse& use = uses[reference];
    use.blocks.resize(memory.channels, 0);
    result.steps += access.lane_count();
    Lanes group;
    const auto serve = [&] {
      for (const Transaction& each : transactions(memory, group, access.bytes)) {
        use.bytes += each.bytes;
        const std::uint32_t channel = channel_of(memory, each.address);
        if (touched[reference].emplace(access.block, channel).second) ++use.blocks[channel];
      }
      group.clear();
    };
    std::size_t next = access.first;
    std::uint32_t current = 0;
    for (std::uint32_t left = access.lanes; left != 0; left &= left - 1) {
      const std::uint32_t lane_group =
          static_cast<std::uint32_t>(std::countr_zero(left)) / machine.access_group;
      if (lane_group != current && !group.empty()) serve();
      current = lane_group;
      group.push_back(static_cast<std::int64_t>(observation.addresses[next++]));
    }
    if (!group.empty()) serve();
  }
  for (const std::uint32_t site : result.sites) {
    const auto use = uses.find(site);
    if (use == uses.end()) continue;
    result.totals.channel_uses.push_back(std::move(use->second));
    result.channel_sites.push_back(site);
  }
}

}  // namespace

Result<ObservedTotals> totals_of(const Observation& observation, const Machine& machine,
                                 std::uint32_t registers) {
  ObservedTotals result;
  const std::uint32_t shared = shared_bytes_of(observation);
  result.totals.occupancy = occupancy(machine, {observation.block_threads(), registers, shared});
  if (result.totals.occupancy.blocks == 0)
    return failure("a block does not fit on a multiprocessor of " + machine.name,
                   std::to_string(observation.block_threads()) + " threads, " + std::to_string(registers) +
                       " registers each, " + std::to_string(shared) + " bytes of shared memory");
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_block;
  for (const std::uint64_t block : observation.blocks) by_block[block];
  for (std::uint32_t i = 0; i < observation.accesses.size(); ++i) {
    const auto chosen = by_block.find(observation.accesses[i].block);
    if (chosen != by_block.end()) chosen->second.push_back(i);
  }
  result.totals.read.resize(observation.arrays.size() + 1);
  result.totals.written.resize(observation.arrays.size() + 1);
  ObservedBlocks blocks(observation, machine, result);
  for (const std::uint64_t block : observation.blocks) blocks.run(by_block[block]);
  result.totals.other_instructions = result.arithmetic.instructions;
  result.totals.part = static_cast<double>(std::max<std::size_t>(observation.blocks.size(), 1)) /
                       static_cast<double>(observation.grid_blocks());
  result.totals.blocks = static_cast<std::int64_t>(observation.grid_blocks());
  result.totals.warps = (observation.block_threads() + machine.warp_size - 1) / machine.warp_size;
  result.has_first_blocks = true;
  check_channels(observation, machine, result);
  ObservedArithmetic& arithmetic = result.arithmetic;
  if (arithmetic.accesses != 0) {
    arithmetic.per_access =
        static_cast<double>(arithmetic.instructions) / static_cast<double>(arithmetic.accesses);
    arithmetic.of_resident_warps =
        arithmetic.per_access * result.totals.occupancy.blocks * static_cast<double>(result.totals.warps);
  }
  return result;
}

}  // namespace lynxpp::models::cumapz
