// A number of a result in a JSON object.
#pragma once

#include <cmath>
#include <cstdint>

#include "report/number.h"

namespace lynxpp::report {

/// What is no finite number is null. Sums that no 64-bit integer holds become the nearest double, and say so
/// by their point or exponent. `Json`: a tree of the library that the caller uses.
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
