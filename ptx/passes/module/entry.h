// Where a function's code begins.
#pragma once

#include <cstdint>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Where the first label, scope or instruction stands: after the declarations. The body is parsed.
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
