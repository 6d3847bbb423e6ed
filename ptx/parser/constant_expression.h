// Constant expressions of PTX (PTX ISA 4.5.4): integers with C's operators.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/parser/cursor.h"

namespace lynxpp::ptx {

/// Evaluates the expression at the cursor in 64 bits. nullopt: the cursor has failed.
std::optional<std::int64_t> constant_expression(Cursor& cursor);

}  // namespace lynxpp::ptx
