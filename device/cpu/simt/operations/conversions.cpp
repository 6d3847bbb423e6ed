// Conversions to and from formats of at most 8 bits, tf32 and packed integers, conversions with stochastic
// rounding, and saturating conversions to 16-bit floats.
#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/formats.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {
namespace {

/// Computes the result of every active lane with `compute(in, lane)`.
template <typename Compute>
Operation for_each_result(Compute compute) {
  return Operation{.run = [compute](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) { call.out[0][lane] = compute(call.in, lane); });
  }};
}

std::uint32_t to_tf32(std::uint32_t bits, std::string_view mode, bool relu, bool saturates) {
  constexpr std::uint32_t infinity = 0x7f80'0000;
  if ((bits & 0x7fff'ffff) > infinity) return mode == "rna" ? bits : 0x7fff'e000;
  if (relu && (bits >> 31) != 0) return 0;
  if ((bits & 0x7fff'ffff) != infinity) {
    const std::uint32_t odd = bits >> 13 & 1;
    if (mode == "rna") bits += 0x1000;
    if (mode == "rn") bits += 0xfff + odd;
    bits &= 0xffff'e000;
  }
  if (saturates && (bits & 0x7fff'ffff) == infinity) bits = (bits & 0x8000'0000) | 0x7f7f'e000;
  return bits;
}

/// cvt.{rn,rz,rna}{.satfinite}{.relu}.tf32.f32
Result<Operation> make_tf32(OperationRequest& request, std::string_view mode, bool relu, bool saturates) {
  if (!request.words.take("f32") || request.sources.size() != 1 || (mode == "rna" && relu))
    return refuse(request);
  return for_each_result([=](const Lanes* in, std::uint32_t lane) -> std::uint64_t {
    return to_tf32(static_cast<std::uint32_t>(in[0][lane]), mode, relu, saturates);
  });
}

/// .relu: zero counts as positive, and NaN is kept.
double positive(double value) { return std::signbit(value) && !std::isnan(value) ? 0.0 : value; }

/// Returns the format of "e4m3x2" and similar.
std::optional<Format> pair_format(std::string_view word) {
  if (!word.ends_with("x2")) return std::nullopt;
  const std::optional<Format> format = parse_format(word.substr(0, word.size() - 2));
  return format && is_float(*format) && bits_of(*format) <= 8 ? format : std::nullopt;
}

/// Returns the bits per number of a pair: 6-bit formats are padded to 8 bits.
unsigned width_in_pair(Format format) { return format == Format::e2m1 ? 4 : 8; }

/// cvt.rn.satfinite{.relu}.pair.{f32,f16x2}: the first of two floats becomes the upper half.
Result<Operation> make_to_pair(OperationRequest& request, Format to, bool relu) {
  OpcodeWords& words = request.words;
  const bool from_floats = words.take("f32");
  if (!from_floats && (!words.take("f16x2") || bits_of(to) != 8)) return refuse(request);
  if (request.sources.size() != (from_floats ? 2u : 1u)) return failure("malformed operands");
  return for_each_result([=](const Lanes* in, std::uint32_t lane) {
    const auto narrow = [&](double value) -> std::uint64_t {
      return encode_small(to, relu ? positive(value) : value);
    };
    const double high =
        from_floats ? decode_float(Format::f32, in[0][lane]) : decode_float(Format::f16, in[0][lane] >> 16);
    const double low =
        from_floats ? decode_float(Format::f32, in[1][lane]) : decode_float(Format::f16, in[0][lane]);
    return narrow(high) << width_in_pair(to) | narrow(low);
  });
}

/// cvt.rn{.relu}.f16x2.pair
Result<Operation> make_from_pair(OperationRequest& request, Format from, bool relu) {
  if (request.sources.size() != 1) return failure("malformed operands");
  return for_each_result([=](const Lanes* in, std::uint32_t lane) {
    const auto widen = [&](std::uint64_t bits) {
      const double value = decode_float(from, bits);
      return encode_float(Format::f16, relu ? positive(value) : value);
    };
    const std::uint64_t low_mask = (std::uint64_t{1} << width_in_pair(from)) - 1;
    return widen(in[0][lane] >> width_in_pair(from) & low_mask) << 16 | widen(in[0][lane] & low_mask);
  });
}

// ---------------------------------------------------------------- halves that saturate

std::uint64_t half_of(Format format, double value, HalfRounding rounding) {
  return double_to_half(value, format == Format::f16 ? binary16 : brain16, rounding);
}

/// Returns the largest finite f16 or bf16.
double largest_half(Format format) { return decode_float(format, format == Format::f16 ? 0x7bff : 0x7f7f); }

/// Clamps to ±`largest`; NaN is kept.
double within(double value, double largest) {
  return std::isnan(value) ? value : std::clamp(value, -largest, largest);
}

/// cvt.{rn,rz}.satfinite{.relu}.{f16,f16x2,bf16,bf16x2}.f32
Result<Operation> make_finite_half(OperationRequest& request, Format to, bool is_pair, bool rounds_to_zero,
                                   bool relu) {
  if (!request.words.take("f32")) return refuse(request);
  if (request.sources.size() != (is_pair ? 2u : 1u)) return failure("malformed operands");
  const HalfRounding rounding = rounds_to_zero ? HalfRounding::toward_zero : HalfRounding::nearest_even;
  return for_each_result([=](const Lanes* in, std::uint32_t lane) {
    const auto narrow = [&](std::uint64_t bits) {
      const double value = within(decode_float(Format::f32, bits), largest_half(to));
      return half_of(to, relu ? positive(value) : value, rounding);
    };
    return is_pair ? narrow(in[0][lane]) << 16 | narrow(in[1][lane]) : narrow(in[0][lane]);
  });
}

// ---------------------------------------------------------------- rounding by random bits

/// Precision of a format: its mantissa bits and the smallest exponent of a normal number.
struct Precision {
  int mantissa = 0, least_exponent = 0;
};

Precision precision_of(Format format) {
  switch (format) {
    case Format::f16: return {10, -14};
    case Format::bf16: return {7, -126};
    case Format::e4m3: return {3, -6};
    case Format::e5m2: return {2, -14};
    case Format::e2m3: return {3, 0};
    default: return {2, -2};  // e3m2
  }
}

/// Rounds the magnitude of a finite f32 away from zero if adding `random`, aligned to the top of the
/// discarded bits, to them carries. The result is exact in the format or beyond its range.
double rounded_at_random(std::uint32_t bits, Precision to, std::uint32_t random, int random_bits) {
  const auto biased = static_cast<int>(bits >> 23 & 0xff);
  const int exponent = std::max(biased, 1) - 127;
  const std::uint64_t significand = (bits & 0x7f'ffff) | (biased != 0 ? 0x80'0000 : 0);
  // With 40 bits discarded, a sum of 16 and 24 bits never carries.
  const int gone = std::min(23 - to.mantissa + std::max(to.least_exponent - exponent, 0), 40);
  const std::uint64_t discarded = significand & ((std::uint64_t{1} << gone) - 1);
  const std::uint64_t added = gone >= random_bits ? std::uint64_t{random} << (gone - random_bits)
                                                  : std::uint64_t{random} >> (random_bits - gone);
  const std::uint64_t kept = (significand >> gone) + ((discarded + added) >> gone);
  return std::ldexp(static_cast<double>(kept), std::max(exponent, to.least_exponent) - to.mantissa);
}

/// Rounds a float by random bits; NaN and infinity are kept.
double at_random(std::uint64_t word, Format to, std::uint32_t random, int random_bits) {
  const auto bits = static_cast<std::uint32_t>(word);
  const double value = decode_float(Format::f32, bits);
  if (!std::isfinite(value)) return value;
  return std::copysign(rounded_at_random(bits, precision_of(to), random, random_bits), value);
}

/// cvt.rs{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b, random: the upper half of the random bits is for a.
Result<Operation> make_random_pair(OperationRequest& request, Format to, bool relu, bool saturates) {
  if (!request.words.take("f32") || request.sources.size() != 3) return refuse(request);
  const int random_bits = to == Format::f16 ? 13 : 16;
  return for_each_result([=](const Lanes* in, std::uint32_t lane) {
    const auto narrow = [&](std::uint64_t bits, std::uint64_t random) {
      const auto used = static_cast<std::uint32_t>(random & ((1u << random_bits) - 1));
      double value = at_random(bits, to, used, random_bits);
      if (saturates) value = within(value, largest_half(to));
      return half_of(to, relu ? positive(value) : value, HalfRounding::nearest_even);
    };
    return narrow(in[0][lane], in[2][lane] >> 16) << 16 | narrow(in[1][lane], in[2][lane]);
  });
}

/// cvt.rs{.relu}.satfinite.{e4m3,e5m2,e2m3,e3m2}x4.f32 d, {a, b, e, f}, random: the upper half of the random
/// bits is for a and b.
Result<Operation> make_random_four(OperationRequest& request, Format to, bool relu) {
  if (!request.words.take("f32") || request.sources.size() != 5) return refuse(request);
  return for_each_result([=](const Lanes* in, std::uint32_t lane) {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint64_t random = i < 2 ? in[4][lane] >> 16 : in[4][lane];
      const double value = at_random(in[i][lane], to, static_cast<std::uint32_t>(random & 0xffff), 16);
      result = result << 8 | encode_small(to, relu ? positive(value) : value);
    }
    return result;
  });
}

Result<Operation> make_random(OperationRequest& request, bool relu, bool saturates) {
  OpcodeWords& words = request.words;
  if (words.take("f16x2")) return make_random_pair(request, Format::f16, relu, saturates);
  if (words.take("bf16x2")) return make_random_pair(request, Format::bf16, relu, saturates);
  const std::string_view four = words.take_of({"e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"});
  if (four.empty() || !saturates) return refuse(request);
  return make_random_four(request, *parse_format(four.substr(0, 4)), relu);
}

// ---------------------------------------------------------------- powers of two

/// Converts the magnitude of a float to ue8m0. `up`: rounds away from zero.
std::uint64_t to_power(std::uint32_t bits, bool up, bool saturates) {
  constexpr std::uint32_t infinity = 0x7f80'0000;
  constexpr std::uint32_t least = 0x0040'0000;  // 2^-127
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  std::uint64_t power = magnitude >> 23;
  if (up && (magnitude & 0x7f'ffff) != 0 && magnitude > least && magnitude < infinity) ++power;
  return saturates && power == 0xff && magnitude <= infinity ? 0xfe : power;
}

/// cvt.{rz,rp}{.satfinite}.ue8m0x2.{f32,bf16x2}
Result<Operation> make_powers(OperationRequest& request, bool up, bool saturates) {
  const bool from_floats = request.words.take("f32");
  if (!from_floats && !request.words.take("bf16x2")) return refuse(request);
  if (request.sources.size() != (from_floats ? 2u : 1u)) return failure("malformed operands");
  return for_each_result([=](const Lanes* in, std::uint32_t lane) {
    const auto first = static_cast<std::uint32_t>(in[0][lane]);
    const std::uint32_t high = from_floats ? first : first & 0xffff'0000;
    const std::uint32_t low = from_floats ? static_cast<std::uint32_t>(in[1][lane]) : first << 16;
    return to_power(high, up, saturates) << 8 | to_power(low, up, saturates);
  });
}

/// cvt.rn.bf16x2.ue8m0x2
Result<Operation> make_from_powers(OperationRequest& request) {
  if (request.sources.size() != 1) return failure("malformed operands");
  return for_each_result([](const Lanes* in, std::uint32_t lane) {
    const auto widen = [](std::uint64_t power) -> std::uint64_t {
      if (power == 0xff) return 0x7fff;
      return power == 0 ? 0x0040 : power << 7;
    };
    return widen(in[0][lane] >> 8 & 0xff) << 16 | widen(in[0][lane] & 0xff);
  });
}

/// cvt.pack.sat.to.s32{.b32} d, a, b{, c}: concatenates c, a and b, with b lowest.
Result<Operation> make_pack(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (!words.take("sat")) return refuse(request);
  const std::string_view to = words.take_of({"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"});
  if (to.empty() || !words.take("s32")) return refuse(request);
  const unsigned bits = static_cast<unsigned>(to.ends_with("16") ? 16 : to[1] - '0');
  const bool has_third = words.take("b32");
  if (has_third == (bits == 16) || request.sources.size() != (has_third ? 3u : 2u)) return refuse(request);
  const bool sign = to[0] == 's';
  return for_each_result([=](const Lanes* in, std::uint32_t lane) -> std::uint64_t {
    const auto clamped = [&](std::uint64_t word) {
      const std::int64_t highest = (std::int64_t{1} << (sign ? bits - 1 : bits)) - 1;
      const std::int64_t lowest = sign ? -highest - 1 : 0;
      const std::int64_t value = static_cast<std::int32_t>(word);
      return static_cast<std::uint64_t>(std::clamp(value, lowest, highest)) & ((1u << bits) - 1);
    };
    const std::uint64_t third = has_third ? in[2][lane] << (2 * bits) : 0;
    return (third | clamped(in[0][lane]) << bits | clamped(in[1][lane])) & 0xffff'ffff;
  });
}

}  // namespace

Result<Operation> make_conversion(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("pack")) return make_pack(request);
  const std::string_view mode = words.take_of({"rn", "rz", "rna", "rs", "rp"});
  bool saturates = words.take("satfinite");
  const bool relu = words.take("relu");
  saturates |= words.take("satfinite");
  if (mode.empty()) return refuse(request);
  if (mode == "rs") return make_random(request, relu, saturates);
  if (mode != "rp" && words.take("tf32")) return make_tf32(request, mode, relu, saturates);
  if ((mode == "rz" || mode == "rp") && !relu && words.take("ue8m0x2"))
    return make_powers(request, mode == "rp", saturates);
  if (mode != "rn" && mode != "rz") return refuse(request);
  if (saturates) {
    if (const std::string_view half = words.take_of({"f16", "bf16", "f16x2", "bf16x2"}); !half.empty())
      return make_finite_half(request, half[0] == 'f' ? Format::f16 : Format::bf16, half.ends_with("x2"),
                              mode == "rz", relu);
  }
  if (mode != "rn") return refuse(request);
  if (const std::optional<Format> to = pair_format(words.front()); to && saturates) {
    words.take_any();
    return make_to_pair(request, *to, relu);
  }
  if (!saturates && !relu && words.take("bf16x2"))
    return words.take("ue8m0x2") ? make_from_powers(request) : refuse(request);
  if (saturates || !words.take("f16x2")) return refuse(request);
  const std::optional<Format> from = pair_format(words.front());
  if (!from) return refuse(request);
  words.take_any();
  return make_from_pair(request, *from, relu);
}

}  // namespace lynxpp::device::cpu
