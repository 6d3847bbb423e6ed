#include "report/number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "support/check.h"

namespace lynxpp::report {
namespace {

std::string format(const char* pattern, double value) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), pattern, value);
  return buffer.data();
}

/// "-1234567.5" ▶ "-1,234,567.5".
std::string with_separators(std::string digits) {
  const std::size_t begin = digits.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (std::size_t at = point; at > begin + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string decimal(WideInteger value) {
  // Digits are taken with their sign, since the least value has no positive counterpart.
  const bool negative = value < 0;
  std::string digits;
  do {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (negative ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string exact_real(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return "0";
  if (magnitude >= 1e15 || magnitude < 1e-3) return format("%.4g", value);
  if (magnitude >= 100) return with_separators(format("%.1f", value));
  return format("%.3f", value);
}

std::string compact(double value) {
  static constexpr std::array<const char*, 7> prefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t step = 0;
  // 999.95 would be printed as 1000 of the smaller unit.
  while (std::fabs(value) >= 999.95 && step + 1 < prefixes.size()) {
    value /= 1000;
    ++step;
  }
  return format("%.4g", value) + prefixes[step];
}

}  // namespace

Number operator+(const Number& a, const Number& b) {
  if (a.is_real || b.is_real) return Number::of_real(a.as_double() + b.as_double());
  return Number::of(a.integer + b.integer);
}

bool operator<(const Number& a, const Number& b) {
  if (a.is_real || b.is_real) return a.as_double() < b.as_double();
  return a.integer < b.integer;
}

std::size_t size_of(const Values& values) {
  return std::visit([](const auto& vector) { return vector.size(); }, values);
}

Number number_at(const Values& values, std::size_t index) {
  LYNXPP_CHECK(index < size_of(values), "the index is past the end");
  if (const auto* reals = std::get_if<std::vector<double>>(&values)) return Number::of_real((*reals)[index]);
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&values))
    return Number::of((*integers)[index]);
  return Number::of(std::get<std::vector<std::uint64_t>>(values)[index]);
}

Number quotient(const Number& numerator, const Number& denominator) {
  const double divisor = denominator.as_double();
  return Number::of_real(divisor == 0 ? __builtin_nan("") : numerator.as_double() / divisor);
}

Number number_at(const ResultValue& result, std::size_t index) {
  const Number number = number_at(result.values, index);
  return result.denominators ? quotient(number, number_at(*result.denominators, index)) : number;
}

Values quotients(const ResultValue& ratio) {
  std::vector<double> values(size_of(ratio.values));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = number_at(ratio, i).real;
  return values;
}

std::string_view name_of(Fold fold) {
  switch (fold) {
    case Fold::mean: return "mean";
    case Fold::minimum: return "min";
    case Fold::maximum: return "max";
    case Fold::ratio: return "ratio";
    case Fold::same: return "same";
    case Fold::key: return "key";
    case Fold::first: return "first";
    case Fold::last: return "last";
    case Fold::concatenate: return "concatenate";
    case Fold::sum: break;
  }
  return "sum";
}

std::optional<Fold> find_fold(std::string_view name) {
  for (const Fold fold : {Fold::sum, Fold::mean, Fold::minimum, Fold::maximum, Fold::ratio, Fold::same,
                          Fold::key, Fold::first, Fold::last, Fold::concatenate}) {
    if (name_of(fold) == name) return fold;
  }
  return std::nullopt;
}

bool is_of_bits(std::string_view name, std::string_view unit) {
  if (!unit.empty()) return unit == "address" || unit == "mask";
  for (const std::string_view kind : {"address", "mask"}) {
    if (!name.ends_with(kind)) continue;
    const std::string_view before = name.substr(0, name.size() - kind.size());
    if (before.empty() || before.ends_with('_') || before.ends_with('.')) return true;
  }
  return false;
}

std::string hexadecimal(const Number& number) {
  if (number.is_real || number.integer < 0) return to_text(number);
  std::string digits;
  WideInteger rest = number.integer;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[static_cast<int>(rest % 16)]);
    rest /= 16;
  } while (rest != 0);
  return "0x" + digits;
}

std::string to_text(const Number& number, NumberStyle style) {
  if (number.is_nan()) return "-";
  if (number.is_real && std::isinf(number.real)) return number.real < 0 ? "-inf" : "inf";
  const bool is_small = std::fabs(number.as_double()) < 1000;
  if (style == NumberStyle::compact && !is_small) return compact(number.as_double());
  return number.is_real ? exact_real(number.real) : with_separators(decimal(number.integer));
}

}  // namespace lynxpp::report
