// Values that tell a warp from its lane, in launches whose warps are rows of 32 threads
// (LaunchShape::has_whole_rows).
//
// There %tid.x is a multiple of 32, the same for the warp, plus the lane. No arithmetic on such a sum carries
// out of its five low bits, so that %tid.x / 32 is one number for the warp, and so is what a comparison with
// a multiple of 32 says. All of it is the machine's arithmetic, modulo 2^bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

enum class RowValue : std::uint8_t {
  undecided,  ///< nothing is known against it being any of the following
  multiple,   ///< of 32
  position,   ///< a multiple of 32 that is the same for the warp, plus the lane
  unknown,
};

/// What is true of a value that is one or the other.
RowValue either(RowValue first, RowValue second);

/// An operand that an instruction reads.
struct RowOperand {
  RowValue value = RowValue::unknown;
  bool varies_in_warp = true;
  std::optional<std::int64_t> constant;
};

/// Of a special register, by name with its component.
RowValue row_value_of_special_register(std::string_view name);
RowOperand row_operand_of_constant(std::int64_t constant);

/// Of what an instruction writes; `sources` are its operands but the first.
RowValue row_value_of(const Instruction& instruction, std::span<const RowOperand> sources);

/// Whether the first two sources make no difference between the lanes of a warp to what is written, though
/// they differ themselves.
bool hides_lanes(const Instruction& instruction, std::span<const RowOperand> sources);

}  // namespace lynxpp::ptx
