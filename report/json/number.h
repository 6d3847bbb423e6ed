// Writes a number of a result to a JSON object.
#pragma once

#include <cmath>
#include <cstdint>

#include "report/number.h"

namespace lynxpp::report {

/// Writes null if the number is not finite. Sums that exceed 64 bits become the nearest double, recognizable
/// by the point or exponent. `Json` is the caller's JSON library type.
template <typename Json>
Json json_number(const Number& number) {
  if (number.is_real) return std::isfinite(number.real) ? Json(number.real) : Json(nullptr);
  if (number.integer >= 0 && number.integer <= WideInteger{UINT64_MAX})
    return Json(static_cast<std::uint64_t>(number.integer));
  if (number.integer < 0 && number.integer >= WideInteger{INT64_MIN})
    return Json(static_cast<std::int64_t>(number.integer));
  return Json(number.as_double());
}

}  // namespace lynxpp::report
