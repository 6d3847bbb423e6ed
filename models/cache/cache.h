// A set-associative cache that determines which accesses hit.
//
//   Cache cache({.bytes = 16384, .line = 128, .sector = 32, .ways = 4});
//   if (!cache.access(address, false).hit) ++misses;
#pragma once

#include <cstdint>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models::cache {

/// The set of a line is its number modulo the number of sets; the replacement policy is LRU. A line's sectors
/// are fetched individually.
/// goes. A line's sectors are fetched one by one.
class Cache {
 public:
  /// Precondition: the parameters pass the checks of parse_machine().
  explicit Cache(const CacheTiming& figures);

  struct Outcome {
    bool hit = false;  ///< the sector was present
    /// Bit mask of the dirty sectors of the evicted line, lowest address first; and the line's address.
    std::uint32_t written_back = 0;
    std::uint64_t victim = 0;
  };
  /// Accesses the sector that holds `address`, which is then present, and dirty if `writes`.
  Outcome access(std::uint64_t address, bool writes);

  /// Invalidates everything without writing back.
  void clear();

 private:
  struct Line {
    std::uint64_t number = 0;  ///< address / line size
    std::uint64_t used = 0;    ///< time of last use, in accesses; 0: the line is empty
    std::uint32_t present = 0, written = 0;
  };
  std::uint32_t line_, sector_, ways_;
  std::uint64_t sets_;
  std::uint64_t now_ = 0;
  std::vector<Line> lines_;
};

}  // namespace lynxpp::models::cache
