// Memory bound or not, decided without touching clocks: how a kernel's time changes with arithmetic added
// beside its accesses.
#pragma once

#include <cstdint>

#include "support/result.h"

namespace lynxpp::models::campprof {

struct AddedArithmetic {
  std::uint32_t added = 0;         ///< instructions beside each access
  double instructions = 0;         ///< of warps, the kernel's own
  double accesses = 0;             ///< of these, those that some are added beside
  double milliseconds = 0;         ///< of the kernel as it is
  double milliseconds_before = 0;  ///< with what the additions need, and one of them
  double milliseconds_after = 0;   ///< with one and `added`
  /// So many more instructions, as a share of the kernel's own.
  double more_instructions() const { return added * accesses / instructions; }
  /// So much longer, as a share of the kernel's own time.
  double longer() const { return (milliseconds_after - milliseconds_before) / milliseconds; }
};

/// The part of the time that goes with instructions: by how many percent it grows for each percent of them.
/// Around 0 the kernel waits for what it accesses, around 1 for its instructions. Failure: numbers that are
/// not above 0, and additions of less than least_more_instructions.
Result<double> part_of_instructions(const AddedArithmetic& arithmetic);
/// Fewer make less of a difference than two equal runs.
constexpr double least_more_instructions = 0.05;
/// Below it memory is what the kernel waits for more than for its instructions.
constexpr double largest_memory_bound_part = 0.5;

}  // namespace lynxpp::models::campprof
