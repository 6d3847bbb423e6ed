// What the clock finds out of one launch.
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

/// Transactions by their bytes, up to 32, 64 and more.
struct SizeCounts {
  std::uint64_t of_32 = 0, of_64 = 0, of_128 = 0;
};

/// Transactions that multiprocessors have sent, by channel, over the kernel's time: element c of row r are
/// those of channel c from cycle r × bin_cycles on.
struct Traffic {
  static constexpr std::uint32_t rows = 64;
  static constexpr std::uint32_t first_blocks = 64;
  double bin_cycles = 1;
  std::vector<std::vector<std::uint64_t>> over_time;
  std::vector<std::vector<std::uint64_t>> of_block;  ///< of the first blocks, by channel
};

/// Of global memory: what warps' accesses ask for. A request is one access of one warp.
struct RequestCounts {
  std::uint64_t requests = 0;
  std::uint64_t bytes_asked = 0;  ///< bytes of one lane's access, for each of its lanes
  std::uint64_t sectors = 0;      ///< of 32 bytes, in the request's transactions
  std::uint64_t lines = 0;        ///< of 128 bytes that the request's transactions lie in
};

/// Of the sets of a cache that were looked at, all multiprocessors' L1s together.
struct SampledLocality {
  std::uint64_t sets = 0, sampled_sets = 0;
  cache::ReuseCounts counts;  ///< of whole lines
};

/// Modelled, never measured.
struct KernelTime {
  double cycles = 0;
  double seconds = 0;
  std::uint32_t blocks_per_multiprocessor = 0;  ///< as many as fit
  std::uint32_t warps_per_multiprocessor = 0;   ///< of these blocks, or of the grid where that has fewer
  SizeCounts loads, stores, atomics;    ///< that multiprocessors have sent to the memory or its caches
  std::vector<ChannelCounts> channels;  ///< of the memory: what has passed the caches
  std::optional<CacheCounts> l1, l2;    ///< of sectors; where the machine has such a cache
  RequestCounts load_requests, store_requests;  ///< atomic operations are among neither
  std::optional<SampledLocality> l1_locality, l2_locality;
  Traffic traffic;
};

}  // namespace lynxpp::models::clock
