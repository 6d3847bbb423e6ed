// A set-associative cache: which accesses hit.
//
//   Cache cache({.bytes = 16384, .line = 128, .sector = 32, .ways = 4});
//   if (!cache.access(address, false).hit) ++misses;
#pragma once

#include <cstdint>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models::cache {

/// The set of a line is its number modulo the number of sets; of a full set the least recently used line
/// goes. A line's sectors are fetched one by one.
class Cache {
 public:
  /// Precondition: what parse_machine() checks of the figures.
  explicit Cache(const CacheTiming& figures);

  struct Outcome {
    bool hit = false;  ///< the sector was there
    /// Sectors of a line that had to go and had been written, as bits, lowest address first; and its address.
    std::uint32_t written_back = 0;
    std::uint64_t victim = 0;
  };
  /// Of the sector that holds `address`. It is there afterwards, and is written when `writes`.
  Outcome access(std::uint64_t address, bool writes);

  /// Forgets everything; nothing is written back.
  void clear();

 private:
  struct Line {
    std::uint64_t number = 0;  ///< address / bytes of a line
    std::uint64_t used = 0;    ///< when, in accesses; 0: the line is empty
    std::uint32_t present = 0, written = 0;
  };
  std::uint32_t line_, sector_, ways_;
  std::uint64_t sets_;
  std::uint64_t now_ = 0;
  std::vector<Line> lines_;
};

}  // namespace lynxpp::models::cache
