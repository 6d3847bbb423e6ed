// Hot spots despite hashed partitions: a region of 256 bytes that receives a large share of a kernel's
// accesses, or an address that receives a large share of its atomic operations.
//
//   run with hot_spots_specification(), then hot_spots_of(launches, sites)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/record.h"
#include "support/result.h"

namespace lynxpp::observe {

std::string hot_spots_specification();

struct HotSpot {
  enum class Kind { region, address };
  struct Site {
    std::uint32_t instruction = 0;
    std::uint64_t count = 0;
  };
  Kind kind = Kind::region;
  std::string array;         ///< the array that contains it; empty if unknown
  std::uint64_t offset = 0;  ///< from the beginning of the array, or the address itself
  std::uint64_t bytes = 0;   ///< size of the region; 0: an address
  std::uint64_t count = 0;   ///< warp accesses to the region, or lane operations on the address
  double share = 0;          ///< of the kernel's total
  std::vector<Site> sites;   ///< in descending order of count
};

/// Thresholds of a hot spot: a tenth of the total, and a relevant absolute count.
inline constexpr double least_hot_share = 0.1;
inline constexpr std::uint64_t least_hot_count = 1000;

struct HotSpots {
  std::vector<HotSpot> spots;     ///< by kind, in descending order of count
  std::uint64_t not_counted = 0;  ///< accesses dropped because the table was full
};

/// Aggregates the launches of one kernel; arrays are identified by name. Fails if a record is not from this
/// specification.
Result<HotSpots> hot_spots_of(const std::vector<const report::LaunchRecord*>& launches);

}  // namespace lynxpp::observe
