// Advises which arrays of device memory should be staged in shared memory, and which arrays should remain in
// shared memory (GMProf, section 7.1), from the counts of one launch.
//
// Every array has a weight, the bytes that it takes of a thread block's shared memory, and a value, the
// accesses that shared memory serves in excess of those that fill its words:
//   a shared array     its accesses - words × thread blocks or, if more, live ranges of its words; 0 if no
//                      value from device memory is used more than once
//   a device array     its accesses - words × thread blocks that hold them
// The advice is the set with the greatest sum of values (a 0/1 knapsack, solved exactly) that fits into the
// shared memory a block can have without reducing the number of blocks on a multiprocessor.
//
// A device array is partitioned among thread blocks if some word has fewer accesses than there are blocks, so
// that not every block can use all of it: each block holds its part, words / blocks, and a word is loaded
// once. The advice states the assumption that the parts do not overlap. Otherwise each block is assumed to
// need a copy, which saves at least the stated number. As in the paper, arrays below the threshold on average
// are not candidates. Stores back to device memory are not modelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/machine.h"
#include "models/word_profile/profile.h"

namespace lynxpp::models {

/// Advice for an array.
enum class Staging {
  keep,      ///< shared: well used
  drop,      ///< shared: its words are loaded and used once, or never
  give_way,  ///< shared: others save more for the same bytes
  stage,     ///< device: should be in shared memory
  no_room,   ///< device: would benefit, but others benefit more
  leave,     ///< device: nothing to gain
};
/// "keep", "drop", "give way", "stage", "no room", "leave".
std::string_view name_of(Staging staging);

struct Placement {
  std::string array;
  Staging advised = Staging::leave;
  std::uint64_t bytes = 0;  ///< in a thread block's shared memory
  bool is_part = false;     ///< each block holds a part of it, otherwise a copy
  std::uint64_t saved = 0;  ///< saved accesses to device memory, its value
  std::string reason;       ///< a sentence
};

struct StagingAdvice {
  std::vector<Placement> placements;  ///< in the order of the profile's arrays
  std::uint64_t bytes_now = 0;        ///< shared memory per block
  std::uint64_t bytes_then = 0;       ///< if the advice is followed
  std::uint64_t capacity = 0;         ///< maximum per block with the current number of blocks
  std::optional<Occupancy> now = {};  ///< nullopt: the launch's limits are unknown
  std::optional<Occupancy> then = {};
  bool is_well_used = false;  ///< there are shared arrays, all are kept, and no other array should be staged
  std::string summary;        ///< a sentence
};

/// Precondition: both shared and device memory were profiled.
StagingAdvice staging_advice(const LaunchProfile& launch);

}  // namespace lynxpp::models
