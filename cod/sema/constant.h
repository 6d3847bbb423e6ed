// Evaluates constant expressions with C's arithmetic: extents of arrays and `const` variables at file scope.
#pragma once

#include <cstdint>
#include <optional>

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// Integers are sign- or zero-extended to 64 bits according to their type.
struct Constant {
  Type type = Type::none;
  std::uint64_t integer = 0;
  double real = 0;
};

Constant convert(const Constant& value, Type type);
bool is_true(const Constant& value);

/// nullopt if the expression is not constant or divides by zero. Precondition: analysed without errors.
std::optional<Constant> evaluate(const Expression& expression);

}  // namespace lynxpp::cod
