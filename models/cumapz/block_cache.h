// A thread block's share of its multiprocessor's L1 cache, and the resulting traffic to the L2.
#pragma once

#include <cstdint>
#include <span>

#include "models/cumapz/line_cache.h"
#include "models/cumapz/traffic.h"
#include "models/machine.h"

namespace lynxpp::models::cumapz {

class BlockCache {
 public:
  /// Divides the part of the cache that shared memory leaves among the resident blocks; without a cache the
  /// share is empty. `shared_bytes` is per block.
  BlockCache(const Machine& machine, const Occupancy& occupancy, std::uint32_t shared_bytes);

  /// Processes one access group's accesses to one array, for `weight` blocks. Addresses and `element_bytes`
  /// are in bytes. Loads cache the sectors that they miss; stores bypass the cache.
  void load(GlobalTraffic& traffic, Footprint& footprint, std::uint32_t array,
            std::span<const std::int64_t> addresses, std::uint32_t element_bytes, std::int64_t weight);
  static void store(GlobalTraffic& traffic, Footprint& footprint, std::span<const std::int64_t> addresses,
                    std::uint32_t element_bytes, std::int64_t weight);

  /// Counts one sector, at a multiple of 32 bytes, transferred to the L2.
  static void move_sector(Footprint& footprint, std::int64_t address, std::int64_t weight);

  void clear() { sectors_.clear(); }

 private:
  LineCache sectors_;
};

}  // namespace lynxpp::models::cumapz
