// Which arrays of device memory are worth a place in shared memory, and which of shared memory's own are
// worth theirs (GMProf, section 7.1), from the counts of one launch.
//
// Every array has a weight, the bytes that it takes of a thread block's shared memory, and a value, the
// accesses that shared memory serves beyond those that bring its words there:
//   a shared array     its accesses - words × thread blocks
//   a device array     its accesses - words × thread blocks that hold them
// The advice is the set with the greatest sum of values (a 0/1 knapsack, solved exactly) that fits into the
// shared memory a block can have without fewer blocks on a multiprocessor than now.
//
// A device array is divided among thread blocks where some word has fewer accesses than there are blocks, so
// that not every block can use all of it: each block holds its part, words / blocks, and a word is brought
// once. That the parts do not overlap is presumed, and the advice says so. Otherwise each block is taken to
// need a copy, which saves at least what is said. What is below the threshold in the mean is no candidate, as
// in the paper.
// Stores back to device memory are not modelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/machine.h"
#include "models/word_profile/profile.h"

namespace lynxpp::models {

/// What is advised for an array.
enum class Staging {
  keep,      ///< shared: well used
  drop,      ///< shared: its words are brought there and used once, or never
  give_way,  ///< shared: others save more for the same bytes
  stage,     ///< device: worth a place
  no_room,   ///< device: worth it, but others are worth more
  leave,     ///< device: nothing to gain
};
/// "keep", "drop", "give way", "stage", "no room", "leave".
std::string_view name_of(Staging staging);

struct Placement {
  std::string array;
  Staging advised = Staging::leave;
  std::uint64_t bytes = 0;  ///< of a thread block's shared memory
  bool is_part = false;     ///< each block holds a part of it, else a copy
  std::uint64_t saved = 0;  ///< accesses to device memory, its value
  std::string reason;       ///< a sentence
};

struct StagingAdvice {
  std::vector<Placement> placements;  ///< in the order of the profile's arrays
  std::uint64_t bytes_now = 0;        ///< shared memory of a block
  std::uint64_t bytes_then = 0;       ///< when the advice is followed
  std::uint64_t capacity = 0;         ///< that a block can have with as many blocks on a multiprocessor
  std::optional<Occupancy> now = {};  ///< nullopt: the launch's limits are not known
  std::optional<Occupancy> then = {};
  bool is_well_used = false;  ///< there are shared arrays, all are kept, and nothing else is worth a place
  std::string summary;        ///< a sentence
};

/// Precondition: both shared and device memory were profiled.
StagingAdvice staging_advice(const LaunchProfile& launch);

}  // namespace lynxpp::models
