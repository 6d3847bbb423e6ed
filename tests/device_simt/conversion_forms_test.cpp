// Conversions with stochastic rounding, to saturating halves, and to powers of two, each compared with the
// ISA's text: expected values come from a search or from double-precision arithmetic.
#include <cmath>
#include <limits>

#include "form_table.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

/// Floats of all magnitudes that 8 and 16-bit formats represent, and beyond.
Registers numbers() {
  Registers bits;
  std::uint32_t state = 7;
  for (int i = 0; i < 56; ++i) {
    state = state * 1664525u + 1013904223u;
    const float mantissa = 1.0f + static_cast<float>(state >> 9) * 0x1p-23f;
    bits.push_back(bits_of(std::ldexp(state & 1 ? -mantissa : mantissa, static_cast<int>(state >> 27) - 18)));
  }
  for (const float value : {0.0f, -0.0f, 65504.0f, 65519.0f, 65520.0f, -1e30f,
                            std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    bits.push_back(bits_of(value));
  return bits;
}

Registers random_bits() {
  Registers values;
  std::uint32_t state = 3;
  for (int i = 0; i < 60; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(state);
  }
  for (const std::uint32_t edge : {0u, ~0u, 0x1fff'1fffu, 0x0fff'1000u}) values.push_back(edge);
  return values;
}

struct Target {
  std::string name;
  int mantissa, least_exponent, bits;
  double largest;
  std::uint64_t nan;
};

/// Returns the exact encoding, if the format has the number.
std::uint64_t encoded(const Target& to, double value) {
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (to.bits - 1) : 0;
  const double magnitude = std::fabs(value);
  const int exponent =
      magnitude == 0 ? to.least_exponent : std::max(std::ilogb(magnitude), to.least_exponent);
  const auto places = static_cast<std::uint64_t>(std::ldexp(magnitude, to.mantissa - exponent));
  return sign | ((static_cast<std::uint64_t>(exponent - to.least_exponent) << to.mantissa) + places);
}

/// Rounds towards zero, or away from it if the discarded part and the random bits, as fractions, add up to at
/// least 1.
double rounded(const Target& to, double value, std::uint64_t random, int count) {
  const double magnitude = std::fabs(value);
  const int exponent =
      magnitude == 0 ? to.least_exponent : std::max(std::ilogb(magnitude), to.least_exponent);
  const double places = std::ldexp(magnitude, to.mantissa - exponent);
  const double whole = std::floor(places);
  const bool carries = places - whole + std::ldexp(static_cast<double>(random), -count) >= 1;
  return std::copysign(std::ldexp(whole + carries, exponent - to.mantissa), value);
}

std::uint64_t finished(const Target& to, double value, bool relu, bool saturates) {
  if (std::isnan(value)) return to.nan;
  if (relu && std::signbit(value)) return 0;
  if (std::fabs(value) > to.largest) {
    if (!saturates) return encoded(to, std::copysign(2 * std::exp2(std::ilogb(to.largest)), value));
    value = std::copysign(to.largest, value);
  }
  return encoded(to, value);
}

const Target f16{"f16", 10, -14, 16, 65504, 0x7fff};
const Target bf16{"bf16", 7, -126, 16, 0x1.fep127, 0x7fff};
const Target small[] = {{"e4m3", 3, -6, 8, 448, 0x7f},
                        {"e5m2", 2, -14, 8, 57344, 0x7f},
                        {"e2m3", 3, 0, 6, 7.5, 0x1f},
                        {"e3m2", 2, -2, 6, 28, 0x1f}};

double at_random(const Target& to, std::uint64_t bits, std::uint64_t random, int count) {
  const double value = float_of(bits);
  return std::isfinite(value) ? rounded(to, value, random, count) : value;
}

std::string suffix(bool relu, bool saturates) {
  return std::string(relu ? ".relu" : "") + (saturates ? ".satfinite" : "");
}

std::string test_name(std::string opcode) {
  std::ranges::replace(opcode, '.', '_');
  return opcode;
}

void add_random_pairs(std::vector<FormCase>& cases, const Target& to, bool relu, bool saturates) {
  const std::string opcode = "cvt.rs" + suffix(relu, saturates) + "." + to.name + "x2.f32";
  const int count = to.mantissa == 10 ? 13 : 16;
  cases.push_back({test_name(opcode),
                   {opcode, {{1, 32}}, {{1, 32}, {1, 32}, {1, 32}}},
                   {numbers(), rotated(numbers(), 17), random_bits()},
                   [=](const Registers& in) -> Registers {
                     const auto half = [&](std::uint64_t bits, std::uint64_t random) {
                       random &= (std::uint64_t{1} << count) - 1;
                       return finished(to, at_random(to, bits, random, count), relu, saturates);
                     };
                     return {half(in[0], in[2] >> 16) << 16 | half(in[1], in[2])};
                   }});
}

void add_random_fours(std::vector<FormCase>& cases, const Target& to, bool relu) {
  const std::string opcode = "cvt.rs" + suffix(relu, true) + "." + to.name + "x4.f32";
  cases.push_back(
      {test_name(opcode),
       {opcode, {{1, 32}}, {{4, 32}, {1, 32}}},
       {numbers(), rotated(numbers(), 17), rotated(numbers(), 5), rotated(numbers(), 29), random_bits()},
       [=](const Registers& in) -> Registers {
         std::uint64_t result = 0;
         for (unsigned i = 0; i < 4; ++i) {
           const std::uint64_t random = (i < 2 ? in[4] >> 16 : in[4]) & 0xffff;
           result = result << 8 | finished(to, at_random(to, in[i], random, 16), relu, true);
         }
         return {result};
       }});
}

/// Rounds to nearest even, or towards zero.
double cut(const Target& to, double value, bool to_zero) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), to.least_exponent) - to.mantissa;
  const double places = std::ldexp(value, -exponent);
  return std::copysign(std::ldexp(to_zero ? std::trunc(places) : std::nearbyint(places), exponent), value);
}

void add_finite_halves(std::vector<FormCase>& cases, const Target& to, bool to_zero, bool relu, bool pair) {
  const std::string opcode = std::string("cvt.") + (to_zero ? "rz" : "rn") + suffix(relu, true) + "." +
                             to.name + (pair ? "x2" : "") + ".f32";
  std::vector<OperandGroup> sources(pair ? 2 : 1, OperandGroup{1, 32});
  std::vector<Registers> values = {numbers()};
  if (pair) values.push_back(rotated(numbers(), 17));
  cases.push_back({test_name(opcode),
                   {opcode, {{1, pair ? 32u : 16u}}, sources},
                   values,
                   [=](const Registers& in) -> Registers {
                     const auto half = [&](std::uint64_t bits) {
                       return finished(to, cut(to, float_of(bits), to_zero), relu, true);
                     };
                     return {pair ? half(in[0]) << 16 | half(in[1]) : half(in[0])};
                   }});
}

/// Finds the power of two below or above a magnitude by search.
std::uint64_t power_of(float value, bool up, bool saturates) {
  if (std::isnan(value)) return 0xff;
  const double magnitude = std::fabs(static_cast<double>(value));
  std::uint64_t power = 0;
  while (power < 255 && std::ldexp(1.0, static_cast<int>(power) + 1 - 127) <= magnitude) ++power;
  if (up && power < 255 && std::ldexp(1.0, static_cast<int>(power) - 127) < magnitude) ++power;
  return saturates ? std::min<std::uint64_t>(power, 254) : power;
}

void add_powers(std::vector<FormCase>& cases, bool up, bool saturates) {
  const std::string mode = std::string(up ? "rp" : "rz") + (saturates ? ".satfinite" : "");
  Registers values = numbers();
  for (const std::uint32_t bits : {1u, 0x0040'0000u, 0x0040'0001u, 0x0080'0000u, 0x7f00'0000u, 0x7f7f'ffffu})
    values.push_back(bits);
  cases.push_back({test_name("cvt." + mode + ".ue8m0x2.f32"),
                   {"cvt." + mode + ".ue8m0x2.f32", {{1, 16}}, {{1, 32}, {1, 32}}},
                   {values, rotated(values, 5)},
                   [=](const Registers& in) -> Registers {
                     return {power_of(float_of(in[0]), up, saturates) << 8 |
                             power_of(float_of(in[1]), up, saturates)};
                   }});
  cases.push_back({test_name("cvt." + mode + ".ue8m0x2.bf16x2"),
                   {"cvt." + mode + ".ue8m0x2.bf16x2", {{1, 16}}, {{1, 32}}},
                   {values},
                   [=](const Registers& in) -> Registers {
                     return {power_of(float_of(in[0] & 0xffff'0000), up, saturates) << 8 |
                             power_of(float_of(in[0] << 16), up, saturates)};
                   }});
}

std::vector<FormCase> conversion_cases() {
  std::vector<FormCase> cases;
  for (const bool relu : {false, true}) {
    for (const Target& to : small) add_random_fours(cases, to, relu);
    for (const Target& to : {f16, bf16}) {
      for (const bool other : {false, true}) {
        add_random_pairs(cases, to, relu, other);
        for (const bool pair : {false, true}) add_finite_halves(cases, to, other, relu, pair);
      }
    }
    for (const bool up : {false, true}) add_powers(cases, up, relu);
  }
  Registers powers;
  for (std::uint64_t power = 0; power < 256; ++power) powers.push_back(power << 8 | (255 - power));
  cases.push_back({"cvt_rn_bf16x2_ue8m0x2",
                   {"cvt.rn.bf16x2.ue8m0x2", {{1, 32}}, {{1, 16}}},
                   {powers},
                   [](const Registers& in) -> Registers {
                     const auto half = [](std::uint64_t power) -> std::uint64_t {
                       if (power == 255) return 0x7fff;
                       return bits_of(std::ldexp(1.0f, static_cast<int>(power) - 127)) >> 16;
                     };
                     return {half(in[0] >> 8) << 16 | half(in[0] & 0xff)};
                   }});
  return cases;
}

class ConversionForms : public ::testing::TestWithParam<FormCase> {};
TEST_P(ConversionForms, MatchTheIsa) { check_form(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, ConversionForms, ::testing::ValuesIn(conversion_cases()), name_of_form);

}  // namespace
}  // namespace lynxpp::device::cpu::test
