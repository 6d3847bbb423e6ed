#include "cli/compare/changes.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "report/summary.h"

namespace lynxpp::cli {
namespace {

using report::FoldedNumber;
using report::Number;

Number no_number() { return Number::of_real(std::numeric_limits<double>::quiet_NaN()); }

Number value_of(const std::optional<FoldedNumber>& value) { return value ? value->value() : no_number(); }

bool is_same_shape(const report::LaunchExtent& a, const report::LaunchExtent& b) {
  return to_text(a) == to_text(b);
}

}  // namespace

bool is_amount(report::Fold fold) { return fold != report::Fold::same && fold != report::Fold::key; }

bool Change::is_change() const {
  if (a && b) {
    const Number one = a->value();
    const Number other = b->value();
    if (one.is_nan() || other.is_nan()) return one.is_nan() != other.is_nan();
    if (one < other || other < one) return true;
    const std::optional<report::Fraction> of_a = a->fraction();
    const std::optional<report::Fraction> of_b = b->fraction();
    return of_a && of_b && (of_a->numerator < of_b->numerator || of_b->numerator < of_a->numerator);
  }
  return value_of(a ? a : b).as_double() != 0;
}

Number Change::difference() const {
  const Number one = value_of(a);
  const Number other = value_of(b);
  if (!is_amount(fold) || one.is_nan() || other.is_nan()) return no_number();
  if (one.is_real || other.is_real) return Number::of_real(other.as_double() - one.as_double());
  return Number::of(other.integer - one.integer);
}

Number Change::ratio() const {
  return is_amount(fold) ? report::quotient(value_of(b), value_of(a)) : no_number();
}

double Change::factor() const {
  if (!is_amount(fold)) return 0;
  const double of = ratio().as_double();
  return of > 0 ? std::fabs(std::log(of)) : std::numeric_limits<double>::infinity();
}

double Change::distance() const {
  if (!is_amount(fold)) return 0;
  const auto known = [](const Number& value) { return value.is_nan() ? 0 : value.as_double(); };
  const Number exact = difference();
  return std::fabs(exact.is_nan() ? known(value_of(b)) - known(value_of(a)) : exact.as_double());
}

bool KernelChange::is_change() const {
  return !results.empty() || !arrays.empty() || !notes.a.empty() || !notes.b.empty() ||
         kernel.a->launches != kernel.b->launches || !is_same_shape(kernel.a->grid, kernel.b->grid) ||
         !is_same_shape(kernel.a->block, kernel.b->block);
}

double KernelChange::factor() const { return results.empty() ? 0 : results[0].change.factor(); }

std::string growth_text(double share) {
  if (std::isinf(share)) return "from 0";
  const double percent = 100 * share;
  char text[32];
  std::snprintf(text, sizeof text, std::fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
  return text;
}

}  // namespace lynxpp::cli
