#include "ptx/analysis/values/lane_rows.h"

#include <optional>
#include <string_view>

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t lanes = 32;
constexpr std::int64_t lane_bits = 5;

bool is_unsigned(DataType type) { return type == DataType::u32 || type == DataType::u64; }
bool is_number(DataType type) { return is_unsigned(type) || type == DataType::s32 || type == DataType::s64; }
bool is_word(DataType type) { return is_number(type) || type == DataType::b32 || type == DataType::b64; }

bool is_multiple(const RowOperand& operand) { return operand.value == RowValue::multiple; }
bool is_position(const RowOperand& operand) { return operand.value == RowValue::position; }
bool is_undecided(const RowOperand& operand) { return operand.value == RowValue::undecided; }
/// True if it is a warp-uniform multiple of 32.
bool is_row(const RowOperand& operand) { return is_multiple(operand) && !operand.varies_in_warp; }
bool ends_in_ones(const RowOperand& operand) {
  return operand.constant && (*operand.constant & (lanes - 1)) == lanes - 1;
}

/// Also valid for `or` and `xor`: the lane bits of a multiple are zero.
RowOperand sum(const RowOperand& first, const RowOperand& second) {
  const bool varies = first.varies_in_warp || second.varies_in_warp;
  if (is_multiple(first) && is_multiple(second)) return {RowValue::multiple, varies, {}};
  const bool is_one_position =
      (is_position(first) && is_row(second)) || (is_row(first) && is_position(second));
  if (is_one_position) return {RowValue::position, true, {}};
  const auto may_become = [](const RowOperand& operand) {
    return is_undecided(operand) || is_row(operand) || is_position(operand) || is_multiple(operand);
  };
  if ((is_undecided(first) && may_become(second)) || (is_undecided(second) && may_become(first)))
    return {RowValue::undecided, varies, {}};
  return {RowValue::unknown, true, {}};
}

RowValue difference(const RowOperand& first, const RowOperand& second) {
  if (is_position(first) && is_position(second)) return RowValue::multiple;
  if (is_position(second)) return is_undecided(first) ? RowValue::undecided : RowValue::unknown;
  return sum(first, second).value;
}

RowOperand product(const RowOperand& first, const RowOperand& second) {
  const bool varies = first.varies_in_warp || second.varies_in_warp;
  if (is_multiple(first) || is_multiple(second)) return {RowValue::multiple, varies, {}};
  if (is_undecided(first) || is_undecided(second)) return {RowValue::undecided, varies, {}};
  return {RowValue::unknown, varies, {}};
}

RowValue masked(const RowOperand& first, const RowOperand& second) {
  if (is_multiple(first) || is_multiple(second)) return RowValue::multiple;
  if (ends_in_ones(second)) return first.value;
  if (ends_in_ones(first)) return second.value;
  return is_undecided(first) || is_undecided(second) ? RowValue::undecided : RowValue::unknown;
}

RowValue shifted_left(const RowOperand& value, const RowOperand& by) {
  if (by.constant && *by.constant >= lane_bits) return RowValue::multiple;
  return is_multiple(value) || is_undecided(value) ? value.value : RowValue::unknown;
}

RowValue remainder(const RowOperand& value, const RowOperand& by) {
  const bool is_known_row = is_row(by) || is_undecided(by);
  return is_known_row && by.constant != 0 ? value.value : RowValue::unknown;
}

RowValue chosen(const RowOperand& first, const RowOperand& second, const RowOperand& by) {
  const RowValue value = either(first.value, second.value);
  return value == RowValue::position && by.varies_in_warp ? RowValue::unknown : value;
}

RowValue converted(const OpcodeTraits& traits, const RowOperand& source) {
  return is_number(traits.type) && is_number(traits.first_type) ? source.value : RowValue::unknown;
}

/// True if lanes of one row are all on the same side of the bound.
bool compares_rows(std::optional<Comparison> comparison, const RowOperand& first, const RowOperand& second) {
  if (is_position(first) && is_position(second)) return comparison.has_value();
  const bool below = comparison == Comparison::less || comparison == Comparison::greater_or_equal;
  const bool above = comparison == Comparison::greater || comparison == Comparison::less_or_equal;
  if (is_position(first)) return (below && is_row(second)) || (above && ends_in_ones(second));
  if (is_position(second)) return (above && is_row(first)) || (below && ends_in_ones(first));
  return false;
}

}  // namespace

RowValue either(RowValue first, RowValue second) {
  if (first == RowValue::undecided) return second;
  if (second == RowValue::undecided || first == second) return first;
  return RowValue::unknown;
}

RowValue row_value_of_special_register(std::string_view name) {
  if (name == "%tid.x" || name == "%laneid") return RowValue::position;
  return name == "%ntid.x" ? RowValue::multiple : RowValue::unknown;
}

RowOperand row_operand_of_constant(std::int64_t constant) {
  return {constant % lanes == 0 ? RowValue::multiple : RowValue::unknown, false, constant};
}

RowValue row_value_of(const Instruction& instruction, std::span<const RowOperand> sources) {
  const OpcodeTraits& traits = instruction.traits;
  const std::size_t count = sources.size();
  if (!is_word(traits.type) || instruction.has(Modifier::sat)) return RowValue::unknown;
  const bool is_low = instruction.has_any({Modifier::lo, Modifier::wide});
  if (count == 1) {
    if (traits.op == Op::mov) return sources[0].value;
    return traits.op == Op::cvt ? converted(traits, sources[0]) : RowValue::unknown;
  }
  if (count == 3) {
    if (traits.op == Op::mad && is_low) return sum(product(sources[0], sources[1]), sources[2]).value;
    return traits.op == Op::selp ? chosen(sources[0], sources[1], sources[2]) : RowValue::unknown;
  }
  if (count != 2) return RowValue::unknown;
  switch (traits.op) {
    case Op::add:
    case Op::bit_or:
    case Op::bit_xor: return sum(sources[0], sources[1]).value;
    case Op::sub: return difference(sources[0], sources[1]);
    case Op::mul: return is_low ? product(sources[0], sources[1]).value : RowValue::unknown;
    case Op::bit_and: return masked(sources[0], sources[1]);
    case Op::shl: return shifted_left(sources[0], sources[1]);
    case Op::rem: return is_unsigned(traits.type) ? remainder(sources[0], sources[1]) : RowValue::unknown;
    default: return RowValue::unknown;
  }
}

bool hides_lanes(const Instruction& instruction, std::span<const RowOperand> sources) {
  if (sources.size() < 2) return false;
  const DataType type = instruction.traits.type;
  const RowOperand &first = sources[0], &second = sources[1];
  switch (instruction.op()) {
    case Op::setp:
    case Op::set: return is_number(type) && compares_rows(instruction.traits.comparison, first, second);
    case Op::shr:
      return is_word(type) && is_position(first) && second.constant && *second.constant >= lane_bits;
    case Op::bit_and:
      return is_word(type) &&
             ((is_position(first) && is_row(second)) || (is_row(first) && is_position(second)));
    case Op::div: return is_unsigned(type) && is_position(first) && is_row(second) && second.constant != 0;
    case Op::sub: return is_word(type) && is_position(first) && is_position(second);
    default: return false;
  }
}

}  // namespace lynxpp::ptx
