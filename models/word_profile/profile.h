// What counting the words of a launch's arrays found out (shared_memory_profile, device_memory_profile), as
// models read it: of each array how often its words were accessed, and what a thread block takes of a
// multiprocessor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models {

/// Where the accessed words lie, in 32-byte sectors.
struct WordLayout {
  std::uint64_t sectors = 0;          ///< in which some word was accessed
  std::uint64_t aligned_sectors = 0;  ///< that the same runs of words would touch, each begun at a sector
  std::uint64_t stride = 1;           ///< every accessed word is a multiple of so many words from the first
  std::uint64_t first = 0;            ///< first accessed word
};

struct ArrayProfile {
  enum class Space { shared, device };

  std::string name;
  Space space = Space::device;
  std::uint64_t words = 0;     ///< of 4 bytes; a shared array's are those of one thread block
  std::uint64_t accesses = 0;  ///< by all threads of the launch
  std::uint64_t least = 0;     ///< accesses of a word
  std::uint64_t greatest = 0;
  std::uint64_t never = 0;                  ///< words without an access
  std::uint64_t once = 0;                   ///< words with one
  std::vector<std::uint64_t> heat;          ///< accesses of parts of equal length
  std::vector<std::uint64_t> distribution;  ///< [k]: words with 2^k to 2^(k+1) - 1 accesses
  std::optional<WordLayout> layout = {};

  std::uint64_t accessed_words() const { return words - never; }
  /// Of an accessed word; 0 when there is none.
  double mean() const;
  /// The accessed word with the fewest has no more: exact where every word was accessed, else up to twice as
  /// many.
  std::uint64_t least_of_accessed() const;
};

/// One launch of a kernel.
struct LaunchProfile {
  /// GMProf's threshold: a word with as many accesses is called frequently used.
  static constexpr std::uint64_t usual_threshold = 0xff;
  /// What a thread block needs, and the multiprocessor that holds it.
  struct Place {
    Machine machine;
    BlockNeeds needs;
    std::uint64_t most_shared_bytes = 0;  ///< that one block may have
  };

  std::uint64_t blocks = 1;
  std::uint32_t threads = 1;  ///< of a block
  std::vector<ArrayProfile> arrays;
  bool knows_shared = false;  ///< shared memory was profiled: other arrays than these there are none
  bool knows_device = false;
  std::uint64_t threshold = usual_threshold;
  std::uint64_t count_limit = 0xffffffff;  ///< counts stop there
  std::optional<Place> place = {};
};

/// "12,345".
std::string grouped(std::uint64_t number);
/// "12,345", "9.11".
std::string rounded(double number);

}  // namespace lynxpp::models
