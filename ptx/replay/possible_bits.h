// Which bits of a program's registers can be 1 in any launch: determines without a launch whether replay
// combines bits in few steps.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/replay/program.h"

namespace lynxpp::ptx {

struct PossibleBits {
  std::uint64_t possible = 0;  ///< a superset, in a value read as an unsigned number
  /// The value is a sum of constants and of bits of tid.x with nothing to carry.
  bool are_apart = true;
};

/// Possible bits of all registers of a program; flow-insensitive.
class PossibleBitsOfRegisters {
 public:
  /// %tid.x is less than `threads` in every launch.
  PossibleBitsOfRegisters(const ReplayProgram& program, std::uint32_t threads);

  /// Returns the bits of an operand of `width` bits.
  PossibleBits of(const ReplayOperand& operand, unsigned width) const;

 private:
  PossibleBits result_of(const ReplayOperation& operation) const;

  std::uint64_t of_thread_index_;
  std::vector<PossibleBits> registers_;
};

}  // namespace lynxpp::ptx
