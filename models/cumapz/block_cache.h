// A thread block's share of its multiprocessor's L1 cache, and what goes on from there to the L2.
#pragma once

#include <cstdint>
#include <span>

#include "models/cumapz/execution.h"
#include "models/cumapz/line_cache.h"
#include "models/machine.h"

namespace lynxpp::models::cumapz {

class BlockCache {
 public:
  /// What shared memory leaves of the cache is divided among the blocks that are on the multiprocessor;
  /// without a cache there is nothing. `shared_bytes` of a block.
  BlockCache(const Machine& machine, const Occupancy& occupancy, std::uint32_t shared_bytes);

  /// The accesses of an access group's lanes to one array, for `weight` blocks. Addresses and `element_bytes`
  /// in bytes. Loads keep the sectors that they miss, stores pass by.
  void load(GlobalTraffic& traffic, Footprint& footprint, std::uint32_t array,
            std::span<const std::int64_t> addresses, std::uint32_t element_bytes, std::int64_t weight);
  static void store(GlobalTraffic& traffic, Footprint& footprint, std::span<const std::int64_t> addresses,
                    std::uint32_t element_bytes, std::int64_t weight);

  /// One sector that goes on to the L2, at a multiple of 32 bytes.
  static void move_sector(Footprint& footprint, std::int64_t address, std::int64_t weight);

  void clear() { sectors_.clear(); }

 private:
  LineCache sectors_;
};

}  // namespace lynxpp::models::cumapz
