// Values that separate a warp from its lane, in launches whose warps are rows of 32 threads
// (LaunchShape::has_whole_rows).
//
// In such launches %tid.x is a warp-uniform multiple of 32 plus the lane. No arithmetic on such a sum carries
// out of its five low bits, so %tid.x / 32 is uniform within the warp, and so is a comparison with a multiple
// of 32. All arithmetic is machine arithmetic, modulo 2^bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

enum class RowValue : std::uint8_t {
  undecided,  ///< may still turn out to be any of the following
  multiple,   ///< of 32
  position,   ///< a warp-uniform multiple of 32, plus the lane
  unknown,
};

/// Returns what holds for a value that is one or the other.
RowValue either(RowValue first, RowValue second);

/// An operand that an instruction reads.
struct RowOperand {
  RowValue value = RowValue::unknown;
  bool varies_in_warp = true;
  std::optional<std::int64_t> constant;
};

/// Classifies a special register, by name with its component.
RowValue row_value_of_special_register(std::string_view name);
RowOperand row_operand_of_constant(std::int64_t constant);

/// Classifies the result of an instruction; `sources` are its operands but the first.
RowValue row_value_of(const Instruction& instruction, std::span<const RowOperand> sources);

/// True if the result is the same for all lanes of a warp although the first two sources differ.
bool hides_lanes(const Instruction& instruction, std::span<const RowOperand> sources);

}  // namespace lynxpp::ptx
