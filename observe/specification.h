// The specification whose records become a stream of accesses (records.h), for a choice of blocks.
#pragma once

#include <cstdint>
#include <string>

namespace lynxpp::observe {

/// The thread blocks of a launch to observe, and limits on the recorded data.
struct Choice {
  /// Approximate number of blocks, chosen pseudorandomly by the seed; a grid with at most that number is
  /// observed entirely.
  std::uint64_t blocks = 64;
  std::uint64_t seed = 1;
  /// Number of leading blocks whose accesses to global memory are all observed, as equation 4 of CuMAPz
  /// requires.
  std::uint64_t first_blocks = 64;
  std::uint64_t accesses = 262'144;     ///< capacity per launch, in warp accesses
  std::uint64_t addresses = 4'194'304;  ///< capacity in lane addresses
};

std::string specification_text(const Choice& choice);

}  // namespace lynxpp::observe
