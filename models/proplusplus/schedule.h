// Simulates where and how long thread blocks run if every warp instruction takes the same time; replaces a
// profiler's events of single multiprocessors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/proplusplus/criteria.h"

namespace lynxpp::models::proplusplus {

/// A thread block, measured in steps: a warp's instructions, and waits at barriers for warps with more of
/// them.
struct BlockSteps {
  std::uint64_t duration = 0;  ///< steps of its longest warp
  std::uint64_t active = 0;    ///< sum over its warps
};

struct Schedule {
  std::uint64_t steps = 0;             ///< until the last block ends
  std::vector<double> active_warps;    ///< per multiprocessor, averaged over all steps
  std::vector<std::uint64_t> of_each;  ///< steps of the warps on each multiprocessor
  /// LB: the mean of active_warps over total_warps.
  double balance(std::uint32_t total_warps) const;
};

/// Blocks start in order, each on the multiprocessor that is free first; among several, on the one with the
/// fewest blocks, and among these on the first. `resident` is the number of blocks that a multiprocessor
/// holds, at least 1.
Schedule schedule(std::span<const BlockSteps> blocks, std::uint32_t multiprocessors, std::uint32_t resident);

}  // namespace lynxpp::models::proplusplus
