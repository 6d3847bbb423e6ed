#include "device/cpu/simt/operations/formats.h"

#include <cmath>
#include <limits>
#include <utility>

namespace lynxpp::device::cpu {
namespace {

constexpr std::pair<std::string_view, Format> names[] = {
    {"f16", Format::f16},   {"bf16", Format::bf16}, {"tf32", Format::tf32}, {"f32", Format::f32},
    {"f64", Format::f64},   {"e4m3", Format::e4m3}, {"e5m2", Format::e5m2}, {"e2m3", Format::e2m3},
    {"e3m2", Format::e3m2}, {"e2m1", Format::e2m1}, {"s8", Format::s8},     {"u8", Format::u8},
    {"s4", Format::s4},     {"u4", Format::u4},     {"b1", Format::b1},     {"s32", Format::s32},
};

/// A signed floating-point format of at most 8 bits.
struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  std::uint8_t largest;  ///< finite magnitude
};

SmallFormat small_format(Format format) {
  switch (format) {
    case Format::e4m3: return {4, 3, 7, 0x7e};
    case Format::e5m2: return {5, 2, 15, 0x7b};
    case Format::e2m3: return {2, 3, 1, 0x1f};
    case Format::e3m2: return {3, 2, 3, 0x1f};
    default: return {2, 1, 1, 0x07};
  }
}

double decode_small(Format format, std::uint64_t bits) {
  const SmallFormat small = small_format(format);
  const int width = small.exponent_bits + small.mantissa_bits;
  const auto magnitude = static_cast<int>(bits & ((1u << width) - 1));
  const double sign = (bits >> width & 1) != 0 ? -1.0 : 1.0;
  if (format == Format::e4m3 && magnitude == 0x7f) return std::numeric_limits<double>::quiet_NaN();
  if (format == Format::e5m2 && magnitude >= 0x7c)
    return magnitude == 0x7c ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
  const int exponent = magnitude >> small.mantissa_bits;
  const int mantissa = magnitude & ((1 << small.mantissa_bits) - 1);
  const int lowest = 1 - small.bias - small.mantissa_bits;
  if (exponent == 0) return sign * std::ldexp(mantissa, lowest);
  return sign * std::ldexp(mantissa | 1 << small.mantissa_bits, lowest + exponent - 1);
}

}  // namespace

std::optional<Format> parse_format(std::string_view word) {
  for (const auto& [name, format] : names) {
    if (name == word) return format;
  }
  return std::nullopt;
}

unsigned bits_of(Format format) {
  switch (format) {
    case Format::f64: return 64;
    case Format::f32:
    case Format::tf32:
    case Format::s32: return 32;
    case Format::f16:
    case Format::bf16: return 16;
    case Format::e2m3:
    case Format::e3m2: return 6;
    case Format::e2m1:
    case Format::s4:
    case Format::u4: return 4;
    case Format::b1: return 1;
    default: return 8;
  }
}

bool is_float(Format format) { return format <= Format::e2m1; }

double decode_float(Format format, std::uint64_t bits) {
  switch (format) {
    case Format::f16: return half_to_double(static_cast<std::uint16_t>(bits), binary16);
    case Format::bf16: return half_to_double(static_cast<std::uint16_t>(bits), brain16);
    case Format::tf32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits) & 0xffff'e000u);
    case Format::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Format::f64: return std::bit_cast<double>(bits);
    default: return decode_small(format, bits);
  }
}

std::int64_t decode_integer(Format format, std::uint64_t bits) {
  switch (format) {
    case Format::s8: return static_cast<std::int8_t>(bits);
    case Format::u8: return static_cast<std::uint8_t>(bits);
    case Format::s4: return static_cast<std::int64_t>((bits & 15) ^ 8) - 8;
    case Format::u4: return static_cast<std::int64_t>(bits & 15);
    case Format::b1: return static_cast<std::int64_t>(bits & 1);
    default: return static_cast<std::int32_t>(bits);
  }
}

std::uint64_t encode_float(Format format, double value) {
  switch (format) {
    case Format::f16: return double_to_half(value, binary16, HalfRounding::nearest_even);
    case Format::bf16: return double_to_half(value, brain16, HalfRounding::nearest_even);
    case Format::f64: return std::bit_cast<std::uint64_t>(value);
    default:
      return std::isnan(value) ? 0x7fff'ffffu : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
}

std::uint8_t encode_small(Format format, double value) {
  const SmallFormat small = small_format(format);
  const int width = small.exponent_bits + small.mantissa_bits;
  if (std::isnan(value)) return format == Format::e4m3 || format == Format::e5m2 ? 0x7f : small.largest;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 1u << width : 0u);
  const double magnitude = std::fabs(value);
  const double largest = decode_small(format, small.largest);
  if (magnitude >= largest) return sign | small.largest;
  const int lowest = 1 - small.bias - small.mantissa_bits;
  int exponent = magnitude == 0 ? lowest : std::ilogb(magnitude) - small.mantissa_bits;
  if (exponent < lowest) exponent = lowest;
  const double scaled = std::ldexp(magnitude, -exponent);
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) != 0)) whole += 1;
  const auto mantissa = static_cast<int>(whole);
  const int hidden = 1 << small.mantissa_bits;
  const int bits = mantissa < hidden ? mantissa : ((exponent - lowest) << small.mantissa_bits) + mantissa;
  return static_cast<std::uint8_t>(sign | bits);
}

}  // namespace lynxpp::device::cpu
