// CacheProf's band: the time of a memory-bound kernel's traffic if all accesses hit a cache and if all miss
// it, and the kernel's position between the two. Pure functions; counts come from the clock (models/clock),
// from sampled addresses, or from a profiler.
//
//   n accesses (sectors), h of them hits, f of them the first to their sector; a hit costs c_h, a miss c_m
//   all hits     B = n c_h                  all misses  W = n c_m
//   as it is     t = h c_h + (n - h) c_m    position    (t - B) / (W - B)
//   reachable    R = (n - f) c_h + f c_m: a first access misses, however good the locality
//   better locality would save t - R
#pragma once

#include <cstdint>

#include "models/machine.h"

namespace lynxpp::models::cache {

/// Use of one cache, in sectors.
struct CacheUse {
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  std::uint64_t first = 0;  ///< first accesses to a sector
};

/// Seconds per sector for the entire device under full load.
struct SectorCosts {
  double hit = 0;
  double miss = 0;
};

/// From a machine's parameters: a hit occupies a slice of the L2, a miss also its channel of the memory, and
/// the slower one determines the cost. Precondition of both functions: the machine has a timing with that
/// cache.
SectorCosts l2_costs(const Machine& machine);
/// A hit takes a turn at its multiprocessor's port to the memory; a miss costs as much as an L2 hit, or,
/// without an L2, as an L2 miss.
SectorCosts l1_costs(const Machine& machine);

struct CacheBand {
  double all_hits = 0;  ///< seconds
  double all_misses = 0;
  double as_it_is = 0;           ///< with the actual hits
  double reachable = 0;          ///< if only first accesses miss
  double position = 0;           ///< 0: as if all hit, 1: as if all missed; 0 if there is no band
  double saved_by_locality = 0;  ///< seconds, as_it_is - reachable
};
CacheBand cache_band(const CacheUse& use, const SectorCosts& costs);

/// Position of a time between all hits and all misses; below 0 and above 1 outside the band. 0 if there is no
/// band.
double position_of(double seconds, const CacheBand& band);

/// Bytes requested and data transferred.
struct Moved {
  std::uint64_t bytes_asked = 0;  ///< by lanes, each byte once per request
  std::uint64_t sectors = 0;      ///< of 32 bytes, per request
  std::uint64_t lines = 0;        ///< of 128 bytes, per request
};
/// Bytes transferred but not requested, for transactions of entire lines and of sectors.
struct Wasted {
  std::uint64_t by_lines = 0;
  std::uint64_t by_sectors = 0;
};
Wasted wasted_bytes(const Moved& moved);

}  // namespace lynxpp::models::cache
