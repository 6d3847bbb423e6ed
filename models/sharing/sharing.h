// Heat by sharing: how many different warps and thread blocks visited each word and each sector of an array.
//
// A warp visits a word when one of its lanes accesses it; lanes that do so in one access are one visit. Exact
// for the observed thread blocks; exact for the launch when all of them were observed
// (Observation::is_whole), else a lower bound. Of shared memory each block has its own: a word there is an
// offset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/accesses.h"

namespace lynxpp::models::sharing {

constexpr std::uint32_t word_bytes = 4, sector_bytes = 32;
constexpr std::size_t heat_parts = 64;

/// Of words, or of sectors, of an array.
struct Visited {
  std::uint64_t count = 0;   ///< that were visited
  std::uint64_t visits = 0;  ///< of all of them
  std::uint64_t warps = 0;   ///< different ones of each, added up
  std::uint64_t blocks = 0;
  std::uint64_t most_visits = 0, most_warps = 0, most_blocks = 0;  ///< of one
  std::uint64_t of_several_blocks = 0;                             ///< how many more than one block visited

  double mean_visits() const { return mean(visits); }
  double mean_warps() const { return mean(warps); }
  double mean_blocks() const { return mean(blocks); }

 private:
  double mean(std::uint64_t sum) const {
    return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
  }
};

/// How the lanes of an instruction's executions lie in an array, where they are more than one.
struct SiteUse {
  std::uint32_t site = 0;
  std::uint64_t executions = 0;
  /// Neighbouring elements that would fit in fewer sectors, begun at one.
  std::uint64_t misaligned = 0;
  /// Elements at equal distances that leave gaps; of these the greatest distance, in bytes.
  std::uint64_t strided = 0;
  std::uint64_t stride = 0;
};

struct ArraySharing {
  std::string name;
  bool is_shared = false;
  std::uint64_t bytes = 0;
  Visited words, sectors;
  Visited read_words;                                  ///< by loads alone
  std::uint64_t hottest_word = 0;                      ///< its number in the array
  std::vector<std::uint64_t> heat_warps, heat_blocks;  ///< most of a word of each of heat_parts equal parts
  std::vector<SiteUse> uses;                           ///< by site
};

struct Sharing {
  std::vector<ArraySharing> arrays;  ///< those that were visited, in the observation's order
  std::uint64_t elsewhere = 0;       ///< accesses of lanes outside of all known arrays
  std::uint64_t steps = 0;           ///< words and sectors of lanes that were looked at
};

Sharing sharing_of(const Observation& observation);

}  // namespace lynxpp::models::sharing
