#include "models/cache/band.h"

#include <algorithm>

#include "support/check.h"

namespace lynxpp::models::cache {
namespace {

constexpr double hertz_of_mhz = 1e6;

/// Time of the memory for one transfer of `bytes`, with all channels busy.
double memory_seconds(const Machine& machine, std::uint32_t bytes) {
  const Timing& timing = *machine.timing;
  const double cycles = timing.memory.overhead + static_cast<double>(bytes) / timing.memory.bytes_per_cycle;
  return cycles / (timing.memory_mhz * hertz_of_mhz * machine.global.channels);
}

}  // namespace

SectorCosts l2_costs(const Machine& machine) {
  LYNXPP_CHECK(machine.timing && machine.timing->l2, "the machine has no timing of an L2");
  const Timing& timing = *machine.timing;
  const double hit = timing.l2->occupancy / (timing.core_mhz * hertz_of_mhz * machine.global.channels);
  return {hit, std::max(hit, memory_seconds(machine, timing.l2->sector))};
}

SectorCosts l1_costs(const Machine& machine) {
  LYNXPP_CHECK(machine.timing && (machine.timing->l2 || machine.timing->l1),
               "the machine has no timing of a cache");
  const Timing& timing = *machine.timing;
  const double hit = timing.memory.gap / (timing.core_mhz * hertz_of_mhz * timing.multiprocessors);
  const double below = timing.l2 ? l2_costs(machine).hit : memory_seconds(machine, timing.l1->sector);
  return {hit, std::max(hit, below)};
}

CacheBand cache_band(const CacheUse& use, const SectorCosts& costs) {
  const auto time = [&](std::uint64_t hits) {
    return static_cast<double>(hits) * costs.hit + static_cast<double>(use.accesses - hits) * costs.miss;
  };
  CacheBand band;
  band.all_hits = time(use.accesses);
  band.all_misses = time(0);
  band.as_it_is = time(use.hits);
  band.reachable = time(use.accesses - use.first);
  band.position = position_of(band.as_it_is, band);
  band.saved_by_locality = band.as_it_is - band.reachable;
  return band;
}

double position_of(double seconds, const CacheBand& band) {
  const double width = band.all_misses - band.all_hits;
  return width > 0 ? (seconds - band.all_hits) / width : 0;
}

Wasted wasted_bytes(const Moved& moved) {
  const auto beyond = [&](std::uint64_t bytes) { return bytes - std::min(bytes, moved.bytes_asked); };
  return {beyond(128 * moved.lines), beyond(32 * moved.sectors)};
}

}  // namespace lynxpp::models::cache
