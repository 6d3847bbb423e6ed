// Constant expressions of PTX (PTX ISA 4.5): integers and floating-point numbers with C's operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/parser/cursor.h"
#include "ptx/parser/literal.h"

namespace lynxpp::ptx {

/// Comparisons make integers of floating-point numbers; nothing else mixes the two. A number written as 0f…
/// stands alone or behind a sign.
struct Constant {
  bool is_floating = false;
  std::int64_t integer = 0;
  FloatLiteral floating;
};

/// Whether the text begins with 0f…, 0d… or digits with a point or an exponent.
bool is_floating_literal(std::string_view text);

/// Evaluates the expression at the cursor: integers in 64 bits, floating-point numbers as doubles. nullopt:
/// the cursor has failed.
std::optional<Constant> constant_expression(Cursor& cursor);

/// The same where only an integer makes sense.
std::optional<std::int64_t> integer_expression(Cursor& cursor);

}  // namespace lynxpp::ptx
