// The position where a function's code begins.
#pragma once

#include <cstdint>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Returns the position of the first label, scope or instruction, after the declarations. Requires a parsed
/// body.
inline std::uint32_t entry_position(const Function& function) {
  for (const Statement& statement : function.body->statements) {
    if (statement.kind == StatementKind::instruction || statement.kind == StatementKind::label ||
        statement.kind == StatementKind::scope_begin) {
      return statement.text.begin;
    }
  }
  return function.body_text.end - 1;
}

}  // namespace lynxpp::ptx
