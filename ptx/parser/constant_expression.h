// Constant expressions of PTX (PTX ISA 4.5): integers and floating-point numbers with C's operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/parser/cursor.h"
#include "ptx/parser/literal.h"

namespace lynxpp::ptx {

/// The value of a constant expression. Comparisons of floating-point numbers yield integers; otherwise the
/// two do not mix. A literal of the form 0f… may only be signed, not combined.
struct Constant {
  bool is_floating = false;
  std::int64_t integer = 0;
  FloatLiteral floating;
};

/// True if the text begins with 0f…, 0d… or digits with a point or an exponent.
bool is_floating_literal(std::string_view text);

/// Evaluates the expression at the cursor, with 64-bit integers and doubles. nullopt if the cursor has
/// failed.
std::optional<Constant> constant_expression(Cursor& cursor);

/// The same where only an integer is valid.
std::optional<std::int64_t> integer_expression(Cursor& cursor);

}  // namespace lynxpp::ptx
