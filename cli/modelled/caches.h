// CacheProf: a kernel's time between all hits and all misses of each cache of a modelled machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/modelled/kernels.h"
#include "models/cache/band.h"

namespace lynxpp::cli {

/// The share of all accesses that would hit if sets had this many lines; lines are fetched whole.
struct HitsOfWays {
  std::uint64_t ways = 0;
  double share = 0;
};

struct CacheUsed {
  std::string name;                 ///< "L1"
  models::cache::CacheUse use;      ///< `first` is an estimate from the sampled sets
  models::cache::CacheBand band;    ///< seconds
  double position_of_time = 0;      ///< position of the kernel's time in the band
  std::uint64_t sets = 0;           ///< of all caches of this kind
  std::uint64_t sampled_sets = 0;   ///< sets with exact reuse distances
  std::vector<HitsOfWays> by_ways;  ///< for 1/2, 1, 2 and 4 times the ways; empty: no accesses
};

struct KernelCaches {
  std::string kernel;  ///< demangled
  std::uint64_t launches = 0;
  std::uint64_t untimed = 0;
  double seconds = 0;  ///< modelled, sum of all launches
  std::vector<CacheUsed> caches;
  models::cache::Moved moved;
  models::cache::Wasted wasted;
};

/// Precondition: the machine has a timing.
KernelCaches caches_of(const ModelledKernel& kernel, const models::Machine& machine);

std::string caches_text(const KernelCaches& kernel, const models::Machine& machine);
/// Returns one object and a newline: docs/schema/cache-band.schema.json.
std::string caches_json(const KernelCaches& kernel, const models::Machine& machine);
std::string caches_svg(const KernelCaches& kernel, const models::Machine& machine);
std::string caches_html(const std::vector<KernelCaches>& kernels, const models::Machine& machine);

}  // namespace lynxpp::cli
