// The specification whose records are turned into a stream of accesses (records.h), for a choice of blocks.
#pragma once

#include <cstdint>
#include <string>

namespace lynxpp::observe {

/// Which thread blocks of a launch are observed, and how much of them is kept.
struct Choice {
  /// About so many of the grid, by a seeded choice without order; a grid with no more of them is observed as
  /// a whole.
  std::uint64_t blocks = 64;
  std::uint64_t seed = 1;
  /// Of this many at the beginning all accesses to global memory: what equation 4 of CuMAPz asks for.
  std::uint64_t first_blocks = 64;
  std::uint64_t accesses = 262'144;     ///< of warps that there is room for, in a launch
  std::uint64_t addresses = 4'194'304;  ///< of lanes
};

std::string specification_text(const Choice& choice);

}  // namespace lynxpp::observe
