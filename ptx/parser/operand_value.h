// Sets operands from names, literals and signs. Private to this folder; shared by both statement parsers.
#pragma once

#include <string_view>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Sets the operand to the meaning of `name`: identifier, special register, `_`, or the value of WARP_SZ.
void set_name(Operand& operand, std::string_view name);

/// Joins "%tid" and ".x", which ptxas accepts with white space between them, to "%tid.x"; empty if the result
/// is not a special register with components.
std::string_view special_register_component(std::string_view name, std::string_view component);

/// Sets the operand to the value of an integer literal; false if it is malformed.
bool set_integer(Operand& operand, std::string_view literal);

/// Sets the operand to the value of a floating-point literal; false if it is malformed.
bool set_float(Operand& operand, std::string_view literal);

/// Applies `!`, `-`, `+` or `~` ('\0': no sign); false if the operand cannot have that sign.
bool apply_sign(Operand& operand, char sign);

/// Two's complement arithmetic that wraps around.
std::int64_t wrapping_sum(std::int64_t left, std::int64_t right);
std::int64_t wrapping_negative(std::int64_t value);
std::int64_t wrapping_product(std::int64_t left, std::int64_t right);

}  // namespace lynxpp::ptx
