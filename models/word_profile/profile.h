// Results of counting the words of a launch's arrays (shared_memory_profile, device_memory_profile), as input
// of models: the accesses to each array's words, and the resources that a thread block needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models {

/// Layout of the accessed words, in 32-byte sectors.
struct WordLayout {
  std::uint64_t sectors = 0;          ///< sectors with an accessed word
  std::uint64_t aligned_sectors = 0;  ///< sectors of the same runs if each started at a sector
  std::uint64_t stride = 1;           ///< accessed words are a multiple of this from `first`
  std::uint64_t first = 0;            ///< first accessed word
};

/// Values from device memory that words of a shared array hold one after another (GMProf's enhanced
/// algorithm).
struct LiveRanges {
  std::uint64_t ranges = 0;    ///< of all words in all thread blocks
  std::uint64_t accesses = 0;  ///< to words with ranges, including those that begin them
  std::uint64_t reused = 0;    ///< ranges of words with more than two accesses per range
};

struct ArrayProfile {
  enum class Space { shared, device };

  std::string name;
  Space space = Space::device;
  std::uint64_t words = 0;     ///< of 4 bytes; a shared array's words are those of one thread block
  std::uint64_t accesses = 0;  ///< by all threads of the launch
  std::uint64_t least = 0;     ///< minimum accesses of a word
  std::uint64_t greatest = 0;
  std::uint64_t never = 0;                  ///< words without an access
  std::uint64_t once = 0;                   ///< words with one
  std::vector<std::uint64_t> heat;          ///< accesses to parts of equal length
  std::vector<std::uint64_t> distribution;  ///< [k]: words with 2^k to 2^(k+1) - 1 accesses
  std::optional<WordLayout> layout = {};
  std::optional<LiveRanges> live = {};  ///< nullopt: unknown, as counts are not exact

  std::uint64_t accessed_words() const { return words - never; }
  /// Mean over accessed words; 0 if no word was accessed.
  double mean() const;
  /// Upper bound on the accesses of the least accessed of the accessed words: exact if every word was
  /// accessed, otherwise up to a factor of two too high.
  std::uint64_t least_of_accessed() const;
};

/// One launch of a kernel.
struct LaunchProfile {
  /// GMProf's threshold: a word with at least this number of accesses is called frequently used.
  static constexpr std::uint64_t usual_threshold = 0xff;
  /// Resources that a thread block needs, and its multiprocessor.
  struct Resources {
    Machine machine;
    BlockNeeds needs;
    std::uint64_t most_shared_bytes = 0;  ///< maximum per block
  };

  std::uint64_t blocks = 1;
  std::uint32_t threads = 1;  ///< per block
  std::vector<ArrayProfile> arrays;
  bool knows_shared = false;  ///< shared memory was profiled: there are no other arrays in it
  bool knows_device = false;
  std::uint64_t threshold = usual_threshold;
  std::uint64_t count_limit = 0xffffffff;  ///< maximum count; larger counts saturate
  std::optional<Resources> resources = {};
};

/// "12,345".
std::string grouped(std::uint64_t number);
/// "12,345", "9.11".
std::string rounded(double number);

}  // namespace lynxpp::models
