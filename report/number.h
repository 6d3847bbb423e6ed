// A number of a result, exact if it is an integer, and its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/record.h"

namespace lynxpp::report {

__extension__ using WideInteger = __int128;

/// An integer (wide enough for sums of 64-bit counts) or a double.
struct Number {
  bool is_real = false;
  WideInteger integer = 0;
  double real = 0;

  static Number of(WideInteger value) { return {false, value, 0}; }
  static Number of_real(double value) { return {true, 0, value}; }

  double as_double() const { return is_real ? real : static_cast<double>(integer); }
  bool is_nan() const { return is_real && real != real; }
};

Number operator+(const Number& a, const Number& b);
bool operator<(const Number& a, const Number& b);

std::size_t size_of(const Values& values);
/// Precondition: index < size_of(values).
Number number_at(const Values& values, std::size_t index);

/// Returns NaN for a ratio whose denominator is 0. Precondition: index < size_of(result.values).
Number number_at(const ResultValue& result, std::size_t index);
/// Returns the values of a ratio.
Values quotients(const ResultValue& ratio);
/// Returns NaN if the denominator is 0.
Number quotient(const Number& numerator, const Number& denominator);

std::string_view name_of(Fold fold);
std::optional<Fold> find_fold(std::string_view name);

enum class NumberStyle {
  exact,    ///< 12,345,678 and 12.346
  compact,  ///< 12.35M
};

/// Returns "-" for NaN.
std::string to_text(const Number& number, NumberStyle style = NumberStyle::exact);

/// True if a result's numbers are bit patterns: its unit is "address" or "mask", or it has no unit and its
/// name ends so.
bool is_of_bits(std::string_view name, std::string_view unit);
/// Returns "0x7f00" for a nonnegative integer; else as to_text().
std::string hexadecimal(const Number& number);

}  // namespace lynxpp::report
