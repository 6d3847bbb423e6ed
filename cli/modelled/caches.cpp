#include "cli/modelled/caches.h"

#include <algorithm>
#include <cmath>

#include "support/text.h"

namespace lynxpp::cli {
namespace {

using namespace models::cache;

std::vector<HitsOfWays> hits_by_ways(const ReuseCounts& counts, std::uint32_t ways) {
  const std::uint64_t accesses = counts.accesses();
  std::vector<HitsOfWays> result;
  if (accesses == 0) return result;
  for (const std::uint64_t each : {ways / 2, ways, 2 * ways, 4 * ways})
    result.push_back({each, static_cast<double>(counts.hits(each)) / static_cast<double>(accesses)});
  return result;
}

CacheUsed used(const std::string& name, const models::clock::CacheCounts& counts,
               const models::clock::SampledLocality& locality, const models::CacheTiming& figures,
               const SectorCosts& costs, double seconds) {
  CacheUsed cache;
  cache.name = name;
  cache.use.accesses = counts.hits + counts.misses;
  cache.use.hits = counts.hits;
  const std::uint64_t seen = locality.counts.accesses();
  // Scales the first accesses of the sampled sets to all accesses; at most the misses.
  if (seen != 0)
    cache.use.first = std::min<std::uint64_t>(
        counts.misses, static_cast<std::uint64_t>(std::llround(
                           static_cast<double>(locality.counts.first_sectors) / static_cast<double>(seen) *
                           static_cast<double>(cache.use.accesses))));
  cache.band = cache_band(cache.use, costs);
  cache.position_of_time = position_of(seconds, cache.band);
  cache.sets = locality.sets;
  cache.sampled_sets = locality.sampled_sets;
  cache.by_ways = hits_by_ways(locality.counts, figures.ways);
  return cache;
}

}  // namespace

KernelCaches caches_of(const ModelledKernel& kernel, const models::Machine& machine) {
  const models::clock::KernelTime& time = kernel.time;
  KernelCaches result;
  result.kernel = demangle(kernel.kernel);
  result.launches = kernel.launches;
  result.untimed = kernel.untimed;
  result.seconds = time.seconds;
  const models::Timing& timing = *machine.timing;
  if (time.l1 && time.l1_locality && timing.l1)
    result.caches.push_back(
        used("L1", *time.l1, *time.l1_locality, *timing.l1, l1_costs(machine), time.seconds));
  if (time.l2 && time.l2_locality && timing.l2)
    result.caches.push_back(
        used("L2", *time.l2, *time.l2_locality, *timing.l2, l2_costs(machine), time.seconds));
  for (const auto* requests : {&time.load_requests, &time.store_requests}) {
    result.moved.bytes_asked += requests->bytes_asked;
    result.moved.sectors += requests->sectors;
    result.moved.lines += requests->lines;
  }
  result.wasted = wasted_bytes(result.moved);
  return result;
}

}  // namespace lynxpp::cli
