// What a name, a literal or a sign makes of an operand. Inside this folder only; both ways to parse a
// statement share it.
#pragma once

#include <string_view>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Sets the operand to what `name` means: identifier, special register, `_`, or the value of WARP_SZ.
void set_name(Operand& operand, std::string_view name);

/// "%tid.x" of "%tid" and ".x", which ptxas takes with white space between them; empty when that is no
/// special register with components.
std::string_view special_register_component(std::string_view name, std::string_view component);

/// Sets the operand to the value of an integer literal; false when it has none.
bool set_integer(Operand& operand, std::string_view literal);

/// Sets the operand to the value of a floating-point literal; false when it has none.
bool set_float(Operand& operand, std::string_view literal);

/// Applies `!`, `-`, `+` or `~` ('\0': no sign); false when the operand cannot have that sign.
bool apply_sign(Operand& operand, char sign);

/// Two's complement, wrapping.
std::int64_t wrapping_sum(std::int64_t left, std::int64_t right);
std::int64_t wrapping_negative(std::int64_t value);
std::int64_t wrapping_product(std::int64_t left, std::int64_t right);

}  // namespace lynxpp::ptx
