// Determines without clocks if a kernel is memory bound: how its time changes if arithmetic is added at its
// accesses.
#pragma once

#include <cstdint>

#include "support/result.h"

namespace lynxpp::models::campprof {

struct AddedArithmetic {
  std::uint32_t added = 0;         ///< instructions added at each access
  double instructions = 0;         ///< warp instructions of the original kernel
  double accesses = 0;             ///< warp instructions at which arithmetic is added
  double milliseconds = 0;         ///< time of the original kernel
  double milliseconds_before = 0;  ///< time with the additions' setup and one addition
  double milliseconds_after = 0;   ///< time with one addition and `added` more
  /// Additional instructions, as a share of the kernel's own.
  double more_instructions() const { return added * accesses / instructions; }
  /// Additional time, as a share of the kernel's own.
  double longer() const { return (milliseconds_after - milliseconds_before) / milliseconds; }
};

/// Returns the sensitivity of the time to instructions: its growth in percent per percent of additional
/// instructions. Around 0 the kernel is bound by its accesses, around 1 by its instructions. Fails for values
/// that are not positive, and for fewer additions than least_more_instructions.
Result<double> part_of_instructions(const AddedArithmetic& arithmetic);
/// With fewer, the effect is within the noise of two identical runs.
constexpr double least_more_instructions = 0.05;
/// Below this, the kernel is bound by memory more than by its instructions.
constexpr double largest_memory_bound_part = 0.5;

}  // namespace lynxpp::models::campprof
