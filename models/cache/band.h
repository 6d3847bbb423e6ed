// CacheProf's band: what a kernel's traffic takes when all accesses hit a cache, when all miss it, and
// where the kernel is in between. For kernels that are bound by memory. Pure functions; counts come from
// the clock (models/clock), from sampled addresses, or from a profiler.
//
//   n accesses (sectors), h of them hits, f of them the first to their sector; a hit takes c_h, a miss c_m
//   all hits     B = n c_h                  all misses  W = n c_m
//   as it is     t = h c_h + (n - h) c_m    place       (t - B) / (W - B)
//   reachable    R = (n - f) c_h + f c_m: a first access misses, however good the locality
//   better locality would save t - R
#pragma once

#include <cstdint>

#include "models/machine.h"

namespace lynxpp::models::cache {

/// Of one cache, in sectors.
struct CacheUse {
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  std::uint64_t first = 0;  ///< accesses to what was not accessed before
};

/// Seconds that the whole device takes for one sector, when it has many to serve.
struct SectorCosts {
  double hit = 0;
  double miss = 0;
};

/// From a machine's figures: a hit keeps a slice of the L2 busy, a miss its channel of the memory, too, of
/// which the slower counts. Precondition of both: the machine has a timing with that cache.
SectorCosts l2_costs(const Machine& machine);
/// A hit takes a turn at its multiprocessor's port to the memory; a miss what an access to the L2 takes that
/// hits, or that misses with a machine without L2.
SectorCosts l1_costs(const Machine& machine);

struct CacheBand {
  double all_hits = 0;  ///< seconds
  double all_misses = 0;
  double as_it_is = 0;           ///< with the hits there are
  double reachable = 0;          ///< with first accesses as the only misses
  double place = 0;              ///< 0: as if all hit, 1: as if all missed; 0 where there is no band
  double saved_by_locality = 0;  ///< seconds, as_it_is - reachable
};
CacheBand cache_band(const CacheUse& use, const SectorCosts& costs);

/// Where a time lies between all hits and all misses; below 0 and above 1 outside. 0 where there is no band.
double place_of(double seconds, const CacheBand& band);

/// What accesses ask for and what is moved for them.
struct Moved {
  std::uint64_t bytes_asked = 0;  ///< by lanes, each byte once in a request
  std::uint64_t sectors = 0;      ///< of 32 bytes, by request
  std::uint64_t lines = 0;        ///< of 128 bytes, by request
};
/// Bytes that are moved and that no lane asked for: in transactions of whole lines, and of sectors.
struct Wasted {
  std::uint64_t by_lines = 0;
  std::uint64_t by_sectors = 0;
};
Wasted wasted_bytes(const Moved& moved);

}  // namespace lynxpp::models::cache
