// Which bits of a program's registers can be 1 in any launch: determines without a launch whether replay combines
// bits in few steps.
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

/// By register; flow-insensitive.
using PossibleBitsOfRegisters = std::vector<PossibleBits>;
PossibleBitsOfRegisters find_possible_bits(const ReplayProgram& program);

/// Returns the bits of an operand of `width` bits.
PossibleBits possible_bits_of(const ReplayOperand& operand, unsigned width,
                              const PossibleBitsOfRegisters& registers);

}  // namespace lynxpp::ptx
