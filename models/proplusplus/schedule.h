// Where thread blocks run and for how long, when every instruction of a warp takes the same time: what stands
// in for a profiler's events of single multiprocessors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/proplusplus/criteria.h"

namespace lynxpp::models::proplusplus {

/// A thread block, in steps: the instructions of a warp, and the waits at barriers for warps with more.
struct BlockSteps {
  std::uint64_t duration = 0;  ///< of its longest warp
  std::uint64_t active = 0;    ///< sum over its warps
};

struct Schedule {
  std::uint64_t steps = 0;             ///< until the last block is over
  std::vector<double> active_warps;    ///< of each multiprocessor, the mean over all steps
  std::vector<std::uint64_t> of_each;  ///< warps' steps on each multiprocessor
  /// LB: the mean of active_warps over total_warps.
  double balance(std::uint32_t total_warps) const;
};

/// Blocks start in their order, each where a place is free first; of several such multiprocessors, where the
/// fewest blocks are, and of these the first. `resident` is how many blocks a multiprocessor holds, at least
/// 1.
Schedule schedule(std::span<const BlockSteps> blocks, std::uint32_t multiprocessors, std::uint32_t resident);

}  // namespace lynxpp::models::proplusplus
