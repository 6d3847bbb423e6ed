// Where accesses meet although partitions are hashed: a region of 256 bytes that a large part of a kernel's
// accesses go to, and an address that a large part of its atomic operations go to.
//
//   run with hot_places_specification(), then hot_places_of(launches, sites)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/record.h"
#include "support/result.h"

namespace lynxpp::observe {

std::string hot_places_specification();

struct HotPlace {
  enum class Kind { region, address };
  struct Site {
    std::uint32_t instruction = 0;
    std::uint64_t count = 0;
  };
  Kind kind = Kind::region;
  std::string array;         ///< that it lies in; empty: none that is known
  std::uint64_t offset = 0;  ///< from the array's begin, or the address itself
  std::uint64_t bytes = 0;   ///< of the region; 0: of an address
  std::uint64_t count = 0;   ///< accesses of warps to the region; operations of lanes on the address
  double share = 0;          ///< of all of the kernel's
  std::vector<Site> sites;   ///< the one with the most first
};

/// What makes a place hot: a tenth of all, and so many that they matter.
inline constexpr double least_hot_share = 0.1;
inline constexpr std::uint64_t least_hot_count = 1000;

struct HotPlaces {
  std::vector<HotPlace> places;   ///< by kind, the most first
  std::uint64_t not_counted = 0;  ///< accesses to places that there was no room for
};

/// Of the launches of one kernel, added up; an array is the same where its name is. Failure: a record is not
/// of this specification.
Result<HotPlaces> hot_places_of(const std::vector<const report::LaunchRecord*>& launches);

}  // namespace lynxpp::observe
