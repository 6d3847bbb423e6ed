// Heat by sharing: the number of distinct warps and thread blocks that visited each word and each sector of
// an array.
//
// A warp visits a word if one of its lanes accesses it; several lanes in one access are one visit. Exact for
// the observed thread blocks; exact for the launch if all of them were observed (Observation::is_whole),
// otherwise a lower bound. Each block has its own shared memory: a word there is an offset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/accesses.h"

namespace lynxpp::models::sharing {

constexpr std::uint32_t word_bytes = 4, sector_bytes = 32;
constexpr std::size_t heat_parts = 64;

/// Statistics of an array's words, or of its sectors.
struct Visited {
  std::uint64_t count = 0;   ///< number visited
  std::uint64_t visits = 0;  ///< sum over them
  std::uint64_t warps = 0;   ///< distinct warps of each, summed
  std::uint64_t blocks = 0;
  std::uint64_t most_visits = 0, most_warps = 0, most_blocks = 0;  ///< maximum of one word or sector
  std::uint64_t of_several_blocks = 0;                             ///< number visited by more than one block

  double mean_visits() const { return mean(visits); }
  double mean_warps() const { return mean(warps); }
  double mean_blocks() const { return mean(blocks); }

 private:
  double mean(std::uint64_t sum) const {
    return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
  }
};

/// Layout of an instruction's accesses to an array, for executions with more than one lane.
struct SiteUse {
  std::uint32_t site = 0;
  std::uint64_t executions = 0;
  /// Executions with neighbouring elements that would fit in fewer sectors if they started at one.
  std::uint64_t misaligned = 0;
  /// Executions with equidistant elements that leave gaps, and the largest such distance, in bytes.
  std::uint64_t strided = 0;
  std::uint64_t stride = 0;
};

struct ArraySharing {
  std::string name;
  bool is_shared = false;
  std::uint64_t bytes = 0;
  Visited words, sectors;
  Visited read_words;                                  ///< by loads only
  std::uint64_t hottest_word = 0;                      ///< its index in the array
  std::vector<std::uint64_t> heat_warps, heat_blocks;  ///< maximum in each of heat_parts equal parts
  std::vector<SiteUse> uses;                           ///< by site
};

struct Sharing {
  std::vector<ArraySharing> arrays;  ///< those visited, in the observation's order
  std::uint64_t elsewhere = 0;       ///< lane accesses outside all known arrays
  std::uint64_t steps = 0;           ///< words and sectors processed, over all lanes
};

Sharing sharing_of(const Observation& observation);

}  // namespace lynxpp::models::sharing
