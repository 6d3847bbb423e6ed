#include "device/cpu/simt/lanes/half.h"

#include <bit>
#include <cmath>
#include <limits>

#include "device/cpu/simt/lanes/lane_loop.h"

namespace lynxpp::device::cpu {
namespace {

using Table = std::map<std::string, LaneOperation, std::less<>>;

constexpr int bias(const HalfFormat& format) { return (1 << (format.exponent_bits - 1)) - 1; }

}  // namespace

double half_to_double(std::uint16_t half, const HalfFormat& format) {
  const int exponent_mask = (1 << format.exponent_bits) - 1;
  const int exponent = half >> format.mantissa_bits & exponent_mask;
  const int mantissa = half & ((1 << format.mantissa_bits) - 1);
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == exponent_mask) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int lowest = 1 - bias(format) - format.mantissa_bits;
  if (exponent == 0) return sign * std::ldexp(mantissa, lowest);
  return sign * std::ldexp(mantissa | 1 << format.mantissa_bits, lowest + exponent - 1);
}

std::uint16_t double_to_half(double value, const HalfFormat& format, HalfRounding rounding) {
  if (std::isnan(value)) return format.canonical_nan;
  const bool negative = std::signbit(value);
  const auto sign = static_cast<std::uint16_t>(negative ? 0x8000 : 0);
  const auto infinity = static_cast<std::uint16_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | infinity;
  // Scale so that one ulp becomes 1, then round to an integer; both are exact in double.
  const int lowest = 1 - bias(format) - format.mantissa_bits;
  int exponent = magnitude == 0 ? 0 : std::ilogb(magnitude) - format.mantissa_bits;
  if (magnitude == 0 || exponent < lowest) exponent = lowest;
  const double scaled = std::ldexp(magnitude, -exponent);
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  const bool odd = std::fmod(whole, 2.0) != 0;
  const bool up = rounding == HalfRounding::nearest_even ? rest > 0.5 || (rest == 0.5 && odd)
                  : rounding == HalfRounding::downward   ? negative && rest > 0
                  : rounding == HalfRounding::upward     ? !negative && rest > 0
                                                         : false;
  if (up) whole += 1;
  // A carry out of the mantissa increments the exponent, as intended.
  const auto mantissa = static_cast<std::int64_t>(whole);
  const std::int64_t hidden = std::int64_t{1} << format.mantissa_bits;
  const std::int64_t bits =
      mantissa < hidden ? mantissa : (std::int64_t{exponent - lowest} << format.mantissa_bits) + mantissa;
  if (bits < infinity) return static_cast<std::uint16_t>(sign | bits);
  const bool saturates = rounding == HalfRounding::toward_zero ||
                         (rounding == HalfRounding::downward && !negative) ||
                         (rounding == HalfRounding::upward && negative);
  return static_cast<std::uint16_t>(sign | (saturates ? infinity - 1 : infinity));
}

namespace {

/// Rounds to odd: if inexact, sets the last bit, so that a later rounding to a narrower format is correct.
double to_odd(double value, double error) {
  if (error == 0 || !std::isfinite(value)) return value;
  auto bits = std::bit_cast<std::uint64_t>(value);
  if ((bits & 1) != 0) return value;
  const bool away = (error > 0) == (value > 0);
  bits = away ? bits + 1 : bits - 1;
  return std::bit_cast<double>(bits);
}

double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  return to_odd(sum, error);
}

struct HalfAdd {
  static double of(double a, double b, double) { return add_to_odd(a, b); }
};
struct HalfSub {
  static double of(double a, double b, double) { return add_to_odd(a, -b); }
};
struct HalfMul {
  static double of(double a, double b, double) { return a * b; }
};
struct HalfFma {
  static double of(double a, double b, double c) { return add_to_odd(a * b, c); }
};
template <bool minimum, bool propagate>
struct HalfOrder {
  static double of(double a, double b, double) {
    if (std::isnan(a) || std::isnan(b)) {
      if (propagate) return std::numeric_limits<double>::quiet_NaN();
      return std::isnan(a) ? b : a;
    }
    if (a == b) return std::signbit(a) == minimum ? a : b;
    return (a < b) == minimum ? a : b;
  }
};
struct HalfExp2 {
  static double of(double a, double, double) { return std::exp2(a); }
};
struct HalfTanh {
  static double of(double a, double, double) { return std::tanh(a); }
};

struct F16 {
  static constexpr const HalfFormat& format = binary16;
};
struct BF16 {
  static constexpr const HalfFormat& format = brain16;
};

enum Flags : unsigned { flush = 1, saturate = 2, relu = 4 };

/// True for negative values including -0; false for NaN.
bool is_negative(double value) { return std::signbit(value) && !std::isnan(value); }

double flush_subnormal(double value, const HalfFormat& format) {
  return std::fabs(value) < std::ldexp(1.0, 1 - bias(format)) ? std::copysign(0.0, value) : value;
}

template <typename Format, typename Operation, unsigned flags>
std::uint16_t compute(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  double x[3] = {half_to_double(a, Format::format), half_to_double(b, Format::format),
                 half_to_double(c, Format::format)};
  if constexpr ((flags & flush) != 0) {
    for (double& value : x) value = flush_subnormal(value, Format::format);
  }
  double result = Operation::of(x[0], x[1], x[2]);
  if constexpr ((flags & saturate) != 0)
    result = std::isnan(result) ? 0 : std::fmin(std::fmax(result, 0.0), 1.0);
  if constexpr ((flags & relu) != 0) {
    if (is_negative(result)) result = 0;
  }
  const std::uint16_t half = double_to_half(result, Format::format, HalfRounding::nearest_even);
  if constexpr ((flags & flush) != 0) {
    const auto exponent = half & ((1 << Format::format.exponent_bits) - 1) << Format::format.mantissa_bits;
    return exponent == 0 ? half & 0x8000 : half;
  }
  return half;
}

/// U is uint16_t for one value, uint32_t for a pair.
template <typename U, typename Format, typename Operation, unsigned flags>
struct Elementwise {
  U operator()(U a, U b, U c) const {
    U result = 0;
    for (unsigned shift = 0; shift < sizeof(U) * 8; shift += 16) {
      const auto part = [shift](U word) { return static_cast<std::uint16_t>(word >> shift); };
      result |= static_cast<U>(U{compute<Format, Operation, flags>(part(a), part(b), part(c))} << shift);
    }
    return result;
  }
  U operator()(U a, U b) const { return (*this)(a, b, U{0}); }
  U operator()(U a) const { return (*this)(a, U{0}, U{0}); }
};

template <typename U, typename Format, typename Operation, unsigned flags>
void add_flagged(Table& table, const std::string& name, const std::string& type, int operands) {
  using F = Elementwise<U, Format, Operation, flags>;
  std::string key = name;
  if (flags & saturate) key += ".sat";
  if (flags & relu) key += ".relu";
  if (flags & flush) key += ".ftz";
  key += "." + type;
  table[key] = operands == 1   ? unary<U, U, F>()
               : operands == 2 ? binary<U, U, U, F>()
                               : ternary<U, U, U, U, F>();
}

template <typename U, typename Format, typename Operation>
void add_operation(Table& table, const std::string& name, const std::string& type, int operands) {
  add_flagged<U, Format, Operation, 0>(table, name, type, operands);
  add_flagged<U, Format, Operation, flush>(table, name, type, operands);
  add_flagged<U, Format, Operation, saturate>(table, name, type, operands);
  add_flagged<U, Format, Operation, saturate | flush>(table, name, type, operands);
  add_flagged<U, Format, Operation, relu>(table, name, type, operands);
  add_flagged<U, Format, Operation, relu | flush>(table, name, type, operands);
}

template <typename U, bool absolute>
struct SignBit {
  U operator()(U a) const {
    constexpr U signs = static_cast<U>(0x80008000u);
    return absolute ? static_cast<U>(a & ~signs) : static_cast<U>(a ^ signs);
  }
};

template <typename U, typename Format>
void add_format(Table& table, const std::string& type) {
  add_operation<U, Format, HalfAdd>(table, "add", type, 2);
  add_operation<U, Format, HalfSub>(table, "sub", type, 2);
  add_operation<U, Format, HalfMul>(table, "mul", type, 2);
  add_operation<U, Format, HalfFma>(table, "fma", type, 3);
  add_operation<U, Format, HalfOrder<true, false>>(table, "min", type, 2);
  add_operation<U, Format, HalfOrder<false, false>>(table, "max", type, 2);
  add_operation<U, Format, HalfOrder<true, true>>(table, "min.NaN", type, 2);
  add_operation<U, Format, HalfOrder<false, true>>(table, "max.NaN", type, 2);
  add_operation<U, Format, HalfExp2>(table, "ex2", type, 1);
  add_operation<U, Format, HalfTanh>(table, "tanh", type, 1);
  table["neg." + type] = unary<U, U, SignBit<U, false>>();
  table["abs." + type] = unary<U, U, SignBit<U, true>>();
}

template <typename Format>
struct Widen {
  double operator()(std::uint16_t a) const { return half_to_double(a, Format::format); }
};
template <typename Format>
struct WidenToFloat {
  float operator()(std::uint16_t a) const { return static_cast<float>(half_to_double(a, Format::format)); }
};
template <typename Format, HalfRounding mode, unsigned flags>
struct Narrow {
  std::uint16_t operator()(double a) const {
    if ((flags & saturate) != 0) a = std::isnan(a) ? 0 : std::fmin(std::fmax(a, 0.0), 1.0);
    if ((flags & relu) != 0 && is_negative(a)) a = 0;
    return double_to_half(a, Format::format, mode);
  }
  /// Not every 64-bit integer fits a double: the bits that do not are folded into a sticky last bit.
  std::uint16_t operator()(std::int64_t a) const {
    const double high = static_cast<double>(a >> 32) * 4294967296.0;
    return (*this)(add_to_odd(high, static_cast<double>(a & 0xffffffff)));
  }
  std::uint16_t operator()(std::uint64_t a) const {
    const double high = static_cast<double>(a >> 32) * 4294967296.0;
    return (*this)(add_to_odd(high, static_cast<double>(a & 0xffffffff)));
  }
};

template <typename Format, HalfRounding mode, unsigned flags>
void add_narrow(Table& table, std::string prefix, const std::string& type) {
  if (flags & relu) prefix += ".relu";
  if (flags & saturate) prefix += ".sat";
  prefix += "." + type;
  using F = Narrow<Format, mode, flags>;
  table[prefix + ".f64"] = unary<std::uint16_t, double, F>();
  table[prefix + ".s64"] = unary<std::uint16_t, std::int64_t, F>();
  table[prefix + ".u64"] = unary<std::uint16_t, std::uint64_t, F>();
}

template <typename Format, HalfRounding mode>
void add_conversions(Table& table, const std::string& prefix, const std::string& type) {
  add_narrow<Format, mode, 0>(table, prefix, type);
  add_narrow<Format, mode, saturate>(table, prefix, type);
  add_narrow<Format, mode, relu>(table, prefix, type);
}

template <typename Format>
void add_all(Table& table, const std::string& type) {
  add_format<std::uint16_t, Format>(table, type);
  add_format<std::uint32_t, Format>(table, type + "x2");
  table["cvt.f64." + type] = unary<double, std::uint16_t, Widen<Format>>();
  table["cvt.f32." + type] = unary<float, std::uint16_t, WidenToFloat<Format>>();
  add_conversions<Format, HalfRounding::nearest_even>(table, "cvt", type);
  add_conversions<Format, HalfRounding::toward_zero>(table, "cvt.rz", type);
  add_conversions<Format, HalfRounding::downward>(table, "cvt.rm", type);
  add_conversions<Format, HalfRounding::upward>(table, "cvt.rp", type);
}

}  // namespace

void add_half_operations(Table& table) {
  add_all<F16>(table, "f16");
  add_all<BF16>(table, "bf16");
}

}  // namespace lynxpp::device::cpu
