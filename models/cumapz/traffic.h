// Memory traffic of one reference by kind of memory, and the accessed part of an array.
#pragma once

#include <cstdint>

namespace lynxpp::models::cumapz {

struct GlobalTraffic {
  std::int64_t requests = 0;           ///< warp accesses with some lane in global memory
  std::int64_t requested_bytes = 0;    ///< by threads; once if lanes access the same element
  std::int64_t transferred_bytes = 0;  ///< bytes transferred for them
  std::int64_t transactions = 0;
  std::int64_t lines = 0;    ///< turns of the L1 cache: lines of 128 bytes that contain each access group
  std::int64_t sectors = 0;  ///< 32-byte sectors transferred to the L2: stores, and loads that missed
  std::int64_t partial = 0;  ///< sectors stored by a warp that does not fill all its sectors
};

struct SharedTraffic {
  std::int64_t requests = 0;  ///< of access groups, including the stores of fetches
  std::int64_t served = 0;    ///< number of sequential turns for these
};

/// References to textures and constants.
struct CachedTraffic {
  std::int64_t requested_bytes = 0;  ///< of textures; once if lanes of a group access the same element
  std::int64_t moved_bytes = 0;      ///< of textures: lines that missed the cache
  std::int64_t requests = 0;         ///< of access groups, to constants
  std::int64_t served = 0;           ///< distinct elements of these, served sequentially
};

/// The accessed part of one array.
struct Footprint {
  std::int64_t sectors = 0;         ///< transferred to the L2
  std::int64_t least = 0, end = 0;  ///< addresses of the first byte and one past the last; equal if empty
};

}  // namespace lynxpp::models::cumapz
