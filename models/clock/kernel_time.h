// Results of the clock for one launch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/cache/reuse.h"

namespace lynxpp::models::clock {

struct CacheCounts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};

struct ChannelCounts {
  std::uint64_t transactions = 0;
  std::uint64_t bytes = 0;
  double busy_cycles = 0;
};

/// Transactions by size: up to 32 bytes, up to 64 bytes, and larger.
struct SizeCounts {
  std::uint64_t of_32 = 0, of_64 = 0, of_128 = 0;
};

/// Transactions sent by multiprocessors, by channel, over the kernel's time: element c of row r counts those
/// of channel c from cycle r × bin_cycles on.
struct Traffic {
  static constexpr std::uint32_t rows = 64;
  static constexpr std::uint32_t first_blocks = 64;
  double bin_cycles = 1;
  std::vector<std::vector<std::uint64_t>> over_time;
  std::vector<std::vector<std::uint64_t>> of_block;  ///< transactions of the first blocks, by channel
};

/// Requests of warps' accesses to global memory. A request is one access of one warp.
struct RequestCounts {
  std::uint64_t requests = 0;
  std::uint64_t bytes_asked = 0;  ///< bytes per lane, summed over the lanes
  std::uint64_t sectors = 0;      ///< sectors of 32 bytes in the request's transactions
  std::uint64_t lines = 0;        ///< lines of 128 bytes that contain the request's transactions
};

/// Reuse in the sampled sets of a cache, summed over the L1s of all multiprocessors.
struct SampledLocality {
  std::uint64_t sets = 0, sampled_sets = 0;
  cache::ReuseCounts counts;  ///< by entire lines
};

/// Modelled times and counts, not measured.
struct KernelTime {
  double cycles = 0;
  double seconds = 0;
  std::uint32_t blocks_per_multiprocessor = 0;  ///< maximum that fits
  std::uint32_t warps_per_multiprocessor = 0;   ///< of these blocks, or of the grid if it has fewer
  SizeCounts loads, stores, atomics;            ///< sent by multiprocessors to the memory or its caches
  std::vector<ChannelCounts> channels;          ///< of the memory, after the caches
  std::optional<CacheCounts> l1, l2;            ///< in sectors, if the machine has the cache
  RequestCounts load_requests, store_requests;  ///< excluding atomic operations
  std::optional<SampledLocality> l1_locality, l2_locality;
  Traffic traffic;
};

}  // namespace lynxpp::models::clock
