// The position where a function's code begins.
#pragma once

#include <cstdint>

#include "ptx/ir/module.h"
#include "support/check.h"

namespace lynxpp::ptx {

/// Returns the position of the first label, scope or instruction, after the declarations. Requires a parsed
/// body.
inline std::uint32_t entry_position(const Function& function) {
  LYNXPP_CHECK(function.body.has_value(), "the entry of a function without a parsed body");
  for (const Statement& statement : function.body->statements) {
    if (statement.kind == StatementKind::instruction || statement.kind == StatementKind::label ||
        statement.kind == StatementKind::scope_begin) {
      return statement.text.begin;
    }
  }
  return function.body_text.end - 1;
}

}  // namespace lynxpp::ptx
