#include "ptx/analysis/values/lane_rows.h"

#include <algorithm>
#include <string_view>

#include "ptx/analysis/opcode_modifiers.h"

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t lanes = 32;
constexpr std::int64_t lane_bits = 5;

std::string_view last_modifier(std::string_view opcode) { return opcode.substr(opcode.rfind('.') + 1); }

bool is_unsigned(std::string_view type) { return type == "u32" || type == "u64"; }
bool is_number(std::string_view type) { return is_unsigned(type) || type == "s32" || type == "s64"; }
bool is_word(std::string_view type) { return is_number(type) || type == "b32" || type == "b64"; }

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

RowValue converted(std::string_view opcode, const RowOperand& source) {
  const std::string_view from = last_modifier(opcode);
  const std::string_view to = last_modifier(opcode.substr(0, opcode.rfind('.')));
  return is_number(from) && is_number(to) && !has_modifier(opcode, "sat") ? source.value : RowValue::unknown;
}

/// True if lanes of one row are all on the same side of the bound.
bool compares_rows(std::string_view opcode, const RowOperand& first, const RowOperand& second) {
  const auto has = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(names, [&](std::string_view name) { return has_modifier(opcode, name); });
  };
  const bool is_any = has({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"});
  if (is_position(first) && is_position(second)) return is_any;
  const bool below = has({"lt", "ge", "lo", "hs"});
  const bool above = has({"le", "gt", "ls", "hi"});
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
  const std::string_view opcode = instruction.opcode;
  const std::string_view root = opcode_root(opcode);
  const std::size_t count = sources.size();
  if (!is_word(last_modifier(opcode)) || has_modifier(opcode, "sat")) return RowValue::unknown;
  const bool is_low = has_modifier(opcode, "lo") || has_modifier(opcode, "wide");
  if (root == "mov" && count == 1) return sources[0].value;
  if (root == "cvt" && count == 1) return converted(opcode, sources[0]);
  if (count == 2) {
    if (root == "add" || root == "or" || root == "xor") return sum(sources[0], sources[1]).value;
    if (root == "sub") return difference(sources[0], sources[1]);
    if (root == "mul" && is_low) return product(sources[0], sources[1]).value;
    if (root == "and") return masked(sources[0], sources[1]);
    if (root == "shl") return shifted_left(sources[0], sources[1]);
    if (root == "rem" && is_unsigned(last_modifier(opcode))) return remainder(sources[0], sources[1]);
  }
  if (count == 3) {
    if (root == "mad" && is_low) return sum(product(sources[0], sources[1]), sources[2]).value;
    if (root == "selp") return chosen(sources[0], sources[1], sources[2]);
  }
  return RowValue::unknown;
}

bool hides_lanes(const Instruction& instruction, std::span<const RowOperand> sources) {
  if (sources.size() < 2) return false;
  const std::string_view opcode = instruction.opcode;
  const std::string_view root = opcode_root(opcode);
  const std::string_view type = last_modifier(opcode);
  const RowOperand &first = sources[0], &second = sources[1];
  if (root == "setp" || root == "set") return is_number(type) && compares_rows(opcode, first, second);
  if (!is_word(type)) return false;
  if (root == "shr") return is_position(first) && second.constant && *second.constant >= lane_bits;
  if (root == "and") return (is_position(first) && is_row(second)) || (is_row(first) && is_position(second));
  if (root == "div") return is_unsigned(type) && is_position(first) && is_row(second) && second.constant != 0;
  return root == "sub" && is_position(first) && is_position(second);
}

}  // namespace lynxpp::ptx
