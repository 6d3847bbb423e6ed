// One test per form of the instructions that are computed for a warp at a time, generated from a table of
// opcode, registers and the expected result for one lane.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "form_table.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

// ---------------------------------------------------------------- operands

/// Floats that are edge cases of conversions to a narrow format.
const Registers& floats() {
  static const Registers values = [] {
    Registers bits;
    for (const float value : {0.0f,
                              -0.0f,
                              1.0f,
                              -1.0f,
                              0.5f,
                              1.5f,
                              1.25f,
                              1.125f,
                              1.0625f,
                              1.1875f,
                              -2.5f,
                              3.25f,
                              4.75f,
                              5.0f,
                              6.0f,
                              7.0f,
                              7.75f,
                              28.0f,
                              29.0f,
                              448.0f,
                              463.0f,
                              465.0f,
                              57344.0f,
                              61440.0f,
                              1e30f,
                              -1e30f,
                              0.001f,
                              0.0019f,
                              1e-5f,
                              -3e-6f,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()})
      bits.push_back(bits_of(value));
    return bits;
  }();
  return values;
}

// ---------------------------------------------------------------- narrow formats

struct Small {
  std::string name;
  int exponent, mantissa, bias;
  bool has_nan;
  std::uint32_t largest;
  unsigned width;  ///< in a pair
};

const Small small_formats[] = {{"e4m3", 4, 3, 7, true, 0x7e, 8},
                               {"e5m2", 5, 2, 15, true, 0x7b, 8},
                               {"e2m3", 2, 3, 1, false, 0x1f, 8},
                               {"e3m2", 3, 2, 3, false, 0x1f, 8},
                               {"e2m1", 2, 1, 1, false, 0x07, 4}};

double value_of(const Small& format, std::uint32_t magnitude) {
  const auto exponent = static_cast<int>(magnitude >> format.mantissa);
  const auto fraction = magnitude & ((1u << format.mantissa) - 1);
  if (exponent == 0) return std::ldexp(fraction, 1 - format.bias - format.mantissa);
  return std::ldexp(fraction + (1u << format.mantissa), exponent - format.bias - format.mantissa);
}

/// Finds the nearest magnitude by search; of two equally near ones, the one whose last bit is 0.
std::uint32_t nearest(const Small& format, float value, bool relu) {
  if (std::isnan(value)) return format.has_nan ? 0x7f : format.largest;
  if (relu && std::signbit(value)) value = 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  std::uint32_t best = 0;
  for (std::uint32_t candidate = 1; candidate <= format.largest; ++candidate) {
    const double distance = std::fabs(value_of(format, candidate) - magnitude);
    const double known = std::fabs(value_of(format, best) - magnitude);
    if (distance < known || (distance == known && candidate % 2 == 0)) best = candidate;
  }
  if (magnitude >= value_of(format, format.largest)) best = format.largest;
  return best | (std::signbit(value) ? 1u << (format.exponent + format.mantissa) : 0);
}

void add_small_formats(std::vector<FormCase>& cases) {
  for (const Small& format : small_formats) {
    const OperandGroup pair{1, 2 * format.width};
    for (const bool relu : {false, true}) {
      const std::string suffix = relu ? ".relu" : "";
      cases.push_back(
          {"cvt_" + format.name + (relu ? "_relu" : ""),
           {"cvt.rn.satfinite" + suffix + "." + format.name + "x2.f32", {pair}, {{1, 32}, {1, 32}}},
           {floats(), rotated(floats(), 5)},
           [format, relu](const Registers& in) -> Registers {
             return {nearest(format, float_of(in[0]), relu) << format.width |
                     nearest(format, float_of(in[1]), relu)};
           }});
    }
    Registers halves;
    const std::uint32_t codes = 2u << (format.exponent + format.mantissa);
    for (std::uint32_t i = 0; i < codes; ++i) halves.push_back(i << format.width | (codes - 1 - i));
    cases.push_back({"cvt_f16x2_" + format.name,
                     {"cvt.rn.f16x2." + format.name + "x2", {{1, 32}}, {pair}},
                     {halves},
                     [format](const Registers& in) -> Registers {
                       const auto widen = [&](std::uint64_t bits) -> std::uint64_t {
                         const std::uint32_t sign = 1u << (format.exponent + format.mantissa);
                         const auto magnitude = static_cast<std::uint32_t>(bits & (sign - 1));
                         const std::uint64_t upper = (bits & sign) != 0 ? 0x8000 : 0;
                         if (magnitude > format.largest) {
                           const bool infinite = format.name == "e5m2" && magnitude == 0x7c;
                           return infinite ? 0x7c00 | upper : 0x7fff;
                         }
                         const double value = value_of(format, magnitude);
                         return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)) | upper;
                       };
                       const std::uint64_t mask = (1u << format.width) - 1;
                       return {widen(in[0] >> format.width & mask) << 16 | widen(in[0] & mask)};
                     }});
  }
}

void add_tf32(std::vector<FormCase>& cases) {
  Registers values = floats();
  for (const std::uint32_t bits :
       {0x3f800fffu, 0x3f801000u, 0x3f801001u, 0x3f803000u, 0xbf801000u, 0x7f7fffffu})
    values.push_back(bits);
  for (const char* mode : {"rna", "rn", "rz"}) {
    cases.push_back({std::string("cvt_tf32_") + mode,
                     {std::string("cvt.") + mode + ".tf32.f32", {{1, 32}}, {{1, 32}}},
                     {values},
                     [mode = std::string(mode)](const Registers& in) -> Registers {
                       const float value = float_of(in[0]);
                       if (std::isnan(value)) return {mode == "rna" ? in[0] : 0x7fffe000};
                       if (std::isinf(value) || value == 0) return {in[0]};
                       const int exponent = std::max(std::ilogb(value), -126) - 10;
                       const double scaled = std::ldexp(static_cast<double>(value), -exponent);
                       const double whole = mode == "rna"  ? std::round(scaled)
                                            : mode == "rn" ? std::nearbyint(scaled)
                                                           : std::trunc(scaled);
                       return {bits_of(static_cast<float>(std::ldexp(whole, exponent)))};
                     }});
  }
}

/// Halves rounded to integral values by the ISA's `cvt`, and operations on signs.
void add_halves(std::vector<FormCase>& cases) {
  Registers halves;
  for (const std::uint32_t bits : {0x0000u, 0x8000u, 0x3800u, 0xb800u, 0x3e00u, 0xbe00u, 0x4100u, 0xc100u,
                                   0x7bffu, 0x0001u, 0x8001u, 0x7c00u, 0xfc00u, 0x7e00u, 0x3c01u, 0x63ffu})
    halves.push_back(bits);
  const std::pair<const char*, double (*)(double)> modes[] = {
      {"rni", [](double value) { return std::nearbyint(value); }},
      {"rzi", [](double value) { return std::trunc(value); }},
      {"rmi", [](double value) { return std::floor(value); }},
      {"rpi", [](double value) { return std::ceil(value); }}};
  for (const auto& [mode, compute] : modes) {
    cases.push_back({std::string("cvt_f16_") + mode,
                     {std::string("cvt.") + mode + ".f16.f16", {{1, 16}}, {{1, 16}}},
                     {halves},
                     [compute = compute](const Registers& in) -> Registers {
                       const auto half = std::bit_cast<_Float16>(static_cast<std::uint16_t>(in[0]));
                       if (std::isnan(static_cast<double>(half))) return {0x7fff};
                       const double value = compute(static_cast<double>(half));
                       return {std::bit_cast<std::uint16_t>(static_cast<_Float16>(value))};
                     }});
  }
  cases.push_back({"cvt_relu_f16",
                   {"cvt.rn.relu.f16.f32", {{1, 16}}, {{1, 32}}},
                   {floats()},
                   [](const Registers& in) -> Registers {
                     const float value = float_of(in[0]);
                     if (std::isnan(value)) return {0x7fff};
                     if (std::signbit(value)) return {0};
                     return {std::bit_cast<std::uint16_t>(static_cast<_Float16>(value))};
                   }});
  for (const bool minimum : {true, false}) {
    cases.push_back({minimum ? "min_xorsign" : "max_xorsign",
                     {minimum ? "min.xorsign.abs.f32" : "max.xorsign.abs.f32", {{1, 32}}, {{1, 32}, {1, 32}}},
                     {floats(), rotated(floats(), 13)},
                     [minimum](const Registers& in) -> Registers {
                       const float a = std::fabs(float_of(in[0]));
                       const float b = std::fabs(float_of(in[1]));
                       const float value = minimum ? std::fmin(a, b) : std::fmax(a, b);
                       return {bits_of(value) | ((in[0] ^ in[1]) & 0x80000000)};
                     }});
  }
  for (const char* combination : {"and", "or"}) {
    cases.push_back({std::string("lop3_") + combination,
                     {"{ .reg .pred %p; setp.lt.s32 %p, %s0, 0; lop3." + std::string(combination) +
                          ".b32 %d0|%d1, %s0, %s1, %s2, 0x80, %p; } //",
                      {{1, 32}, {1, 1}},
                      {{1, 32}, {1, 32}, {1, 32}}},
                     {words(), rotated(words(), 3), rotated(words(), 7)},
                     [both = std::string(combination) == "and"](const Registers& in) -> Registers {
                       const std::uint64_t value = in[0] & in[1] & in[2];
                       const bool negative = (in[0] >> 31 & 1) != 0;
                       const bool set = value != 0;
                       return {value, std::uint64_t{both ? set && negative : set || negative}};
                     }});
  }
}

void add_packs(std::vector<FormCase>& cases) {
  struct Pack {
    const char* type;
    int bits;
    std::int64_t low, high;
  };
  for (const Pack& pack : {Pack{"u16", 16, 0, 65535},
                           {"s16", 16, -32768, 32767},
                           {"u8", 8, 0, 255},
                           {"s8", 8, -128, 127},
                           {"u4", 4, 0, 15},
                           {"s4", 4, -8, 7},
                           {"u2", 2, 0, 3},
                           {"s2", 2, -2, 1}}) {
    const bool third = pack.bits < 16;
    Registers values = words();
    for (const int small : {1, -1, 2, -2, 7, 8, -8, -9, 100, 127, 128, 255, 256})
      values.push_back(static_cast<std::uint32_t>(small));
    std::vector<OperandGroup> sources(third ? 3 : 2);
    std::vector<Registers> inputs = {values, rotated(values, 9)};
    if (third) inputs.push_back(words());
    cases.push_back(
        {std::string("cvt_pack_") + pack.type,
         {std::string("cvt.pack.sat.") + pack.type + ".s32" + (third ? ".b32" : ""), {{1, 32}}, sources},
         inputs,
         [pack, third](const Registers& in) -> Registers {
           const auto clamp = [&](std::uint64_t word) {
             const std::int64_t value = static_cast<std::int32_t>(word);
             return static_cast<std::uint64_t>(std::clamp(value, pack.low, pack.high)) &
                    ((1u << pack.bits) - 1);
           };
           const std::uint64_t above = third ? in[2] << (2 * pack.bits) : 0;
           return {(above | clamp(in[0]) << pack.bits | clamp(in[1])) & 0xffffffff};
         }});
  }
}

// ---------------------------------------------------------------- video

std::int64_t video(const std::string& name, std::int64_t a, std::int64_t b) {
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "absdiff") return a > b ? a - b : b - a;
  return name == "min" ? std::min(a, b) : std::max(a, b);
}

void add_scalar_video(std::vector<FormCase>& cases, const std::string& name, bool sign, bool saturates) {
  const std::string type = sign ? ".s32" : ".u32";
  const std::string opcode = "v" + name + type + type + type + (saturates ? ".sat" : "");
  const std::string test = "v" + name + (sign ? "_s" : "_u") + (saturates ? "_sat" : "");
  const auto result = [=](const Registers& in) {
    const std::int64_t value = video(name, field(in[0], 8, 8, sign), field(in[1], 16, 16, sign));
    return saturates ? clamp_to(value, 32, sign) : value;
  };
  InstructionForm form{opcode, {{1, 32}}, {{1, 32}, {1, 32}}, "", "", {".b1", ".h1"}};
  cases.push_back({test, form, {words(), rotated(words(), 3)}, [=](const Registers& in) -> Registers {
                     return {static_cast<std::uint32_t>(result(in))};
                   }});
  form.sources.push_back({1, 32});
  form.opcode = opcode + ".add";
  cases.push_back({test + "_accumulates",
                   form,
                   {words(), rotated(words(), 3), rotated(words(), 7)},
                   [=](const Registers& in) -> Registers {
                     return {static_cast<std::uint32_t>(result(in)) + static_cast<std::uint32_t>(in[2])};
                   }});
}

void add_vector_video(std::vector<FormCase>& cases, const std::string& name, unsigned count, bool sign,
                      bool saturates) {
  const std::string type = sign ? ".s32" : ".u32";
  const unsigned bits = 32 / count;
  const std::string opcode =
      "v" + name + std::to_string(count) + type + type + type + (saturates ? ".sat" : "");
  cases.push_back({"v" + name + std::to_string(count) + (sign ? "_s" : "_u") + (saturates ? "_sat" : ""),
                   {opcode, {{1, 32}}, {{1, 32}, {1, 32}, {1, 32}}},
                   {words(), rotated(words(), 3), rotated(words(), 7)},
                   [=](const Registers& in) -> Registers {
                     std::uint64_t result = 0;
                     for (unsigned i = 0; i < count; ++i) {
                       std::int64_t value = video(name, field(in[0], i * bits, bits, sign),
                                                  field(in[1], i * bits, bits, sign));
                       if (saturates) value = clamp_to(value, bits, sign);
                       const auto mask = (std::uint64_t{1} << bits) - 1;
                       result |= (static_cast<std::uint64_t>(value) & mask) << (i * bits);
                     }
                     return {result};
                   }});
}

/// Sums of the results, not truncated to the elements' width: this is how an H100 adds them.
void add_video_sums(std::vector<FormCase>& cases, const std::string& name, bool sign) {
  const std::string type = sign ? ".s32" : ".u32";
  cases.push_back({"v" + name + "4" + (sign ? "_s" : "_u") + "_accumulates",
                   {"v" + name + "4" + type + type + type + ".add", {{1, 32}}, {{1, 32}, {1, 32}, {1, 32}}},
                   {words(), rotated(words(), 3), rotated(words(), 7)},
                   [=](const Registers& in) -> Registers {
                     std::uint64_t sum = in[2];
                     for (unsigned i = 0; i < 32; i += 8)
                       sum += static_cast<std::uint64_t>(
                           video(name, field(in[0], i, 8, sign), field(in[1], i, 8, sign)));
                     return {sum & 0xffffffff};
                   }});
}

void add_video(std::vector<FormCase>& cases) {
  for (const char* name : {"add", "sub", "absdiff", "min", "max"}) {
    for (const bool sign : {false, true}) {
      add_video_sums(cases, name, sign);
      for (const bool saturates : {false, true}) {
        add_scalar_video(cases, name, sign, saturates);
        for (const unsigned count : {2u, 4u}) add_vector_video(cases, name, count, sign, saturates);
      }
    }
  }
  for (const char* comparison : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    for (const bool sign : {false, true}) {
      const std::string type = sign ? ".s32" : ".u32";
      const auto holds = [comparison = std::string(comparison)](std::int64_t a, std::int64_t b) {
        if (comparison == "eq") return a == b;
        if (comparison == "ne") return a != b;
        if (comparison == "lt") return a < b;
        if (comparison == "le") return a <= b;
        return comparison == "gt" ? a > b : a >= b;
      };
      cases.push_back({std::string("vset4_") + comparison + (sign ? "_s" : "_u"),
                       {"vset4" + type + type + "." + comparison, {{1, 32}}, {{1, 32}, {1, 32}, {1, 32}}},
                       {words(), rotated(words(), 1), words()},
                       [=](const Registers& in) -> Registers {
                         std::uint64_t result = 0;
                         for (unsigned i = 0; i < 32; i += 8)
                           result |= std::uint64_t{holds(field(in[0], i, 8, sign), field(in[1], i, 8, sign))}
                                     << i;
                         return {result};
                       }});
    }
  }
}

// ---------------------------------------------------------------- moves of 128 bits

void add_wide_moves(std::vector<FormCase>& cases) {
  Registers longs;
  for (const std::uint64_t word : words()) longs.push_back(word << 32 | (~word & 0xffffffff));
  cases.push_back({"mov_b128",
                   {"{ .reg .b128 %w; mov.b128 %w, {%s0, %s1}; mov.b128 {%d0, %d1}, %w; } //",
                    {{1, 64}, {1, 64}},
                    {{1, 64}, {1, 64}}},
                   {longs, rotated(longs, 4)},
                   [](const Registers& in) -> Registers {
                     return {in[0], in[1]};
                   }});
}

std::vector<FormCase> form_cases() {
  std::vector<FormCase> cases;
  add_small_formats(cases);
  add_tf32(cases);
  add_halves(cases);
  add_packs(cases);
  add_video(cases);
  add_wide_moves(cases);
  return cases;
}

class Forms : public ::testing::TestWithParam<FormCase> {};

TEST_P(Forms, MatchCpp) { check_form(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Table, Forms, ::testing::ValuesIn(form_cases()), name_of_form);

/// Results of an H100 (driver 580).
TEST(Video, SelectsAndMergesElements) {
  struct Case {
    const char* opcode;
    const char* result;
    const char* a;
    const char* b;
    std::uint32_t expected;
  };
  for (const Case& form : {Case{"vadd4.u32.u32.u32", ".b20", ".b7531", ".b0123", 0x11993344},
                           {"vsub4.s32.s32.s32.sat", ".b3", ".b6420", ".b1111", 0x42223344},
                           {"vadd2.s32.s32.s32", ".h1", ".h21", ".h03", 0x9a0e3344},
                           {"vmax2.u32.u32.u32", ".h0", ".h32", ".h10", 0x1122d690},
                           {"vadd4.u32.u32.u32.add", ".b310", "", "", 0x112236eb},
                           {"vadd.u32.u32.u32.sat", ".b2", ".b1", ".h0", 0x11ff3344},
                           {"vmin.s32.u32.s32", ".b0", ".b2", ".b0", 0x11223390},
                           {"vset.s32.s32.lt", ".b1", ".b3", ".h1", 0x11220144},
                           {"vset2.u32.u32.gt.add", ".h10", "", "", 0x11223345},
                           {"vabsdiff.s32.s32.s32.min", "", ".b0", ".h1", 0x7e87}}) {
    std::vector<WarpValues> in(3);
    in[0].fill(0x81f2c37e);
    in[1].fill(0x7f05d690);
    in[2].fill(0x11223344);
    const std::vector<OperandGroup> sources(3);
    const auto out = run_form({form.opcode, {{1, 32}}, sources, "", form.result, {form.a, form.b, ""}}, in);
    EXPECT_EQ(out[0][0], form.expected) << form.opcode;
  }
}

/// Instructions that need an architecture that no test machine has: packed floats and the narrowest formats.
TEST(Reductions, FloatsMatchMinAndMax) {
  WarpValues numbers{};
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    numbers[lane] = std::bit_cast<std::uint32_t>(static_cast<float>(lane) * 1.5f - 20.0f);
  WarpValues with_nan = numbers;
  with_nan[7] = 0xffc0'0001;
  WarpValues zeros{};
  zeros.fill(0);
  zeros[9] = 0x8000'0000;
  WarpValues nothing{};
  nothing.fill(0x7fc0'0000);
  const auto of = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  constexpr std::uint32_t nan = 0x7fff'ffff;
  struct Case {
    const char* opcode;
    const WarpValues* in;
    std::uint32_t expected;
  };
  for (const Case& each : {Case{"redux.sync.min.f32", &numbers, of(-20.0f)},
                           {"redux.sync.max.f32", &numbers, of(26.5f)},
                           {"redux.sync.min.abs.f32", &numbers, of(0.5f)},
                           {"redux.sync.max.abs.f32", &numbers, of(26.5f)},
                           {"redux.sync.min.f32", &with_nan, of(-20.0f)},
                           {"redux.sync.max.NaN.f32", &with_nan, nan},
                           {"redux.sync.min.abs.NaN.f32", &with_nan, nan},
                           {"redux.sync.max.NaN.f32", &numbers, of(26.5f)},
                           {"redux.sync.min.f32", &zeros, 0x8000'0000},
                           {"redux.sync.max.f32", &zeros, 0},
                           {"redux.sync.min.f32", &nothing, nan}}) {
    const auto out = run_form({each.opcode, {{}}, {{}}, ", -1"}, {*each.in});
    for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[0][lane], each.expected) << each.opcode;
  }
  // Each half of the warp separately.
  const auto halves =
      run_form({"redux.sync.max.f32", {{}}, {{}, {}}}, {numbers, [] {
                                                          WarpValues members{};
                                                          for (std::uint32_t lane = 0; lane < 32; ++lane)
                                                            members[lane] = lane < 16 ? 0xffff : 0xffff'0000;
                                                          return members;
                                                        }()});
  EXPECT_EQ(halves[0][3], of(2.5f));
  EXPECT_EQ(halves[0][20], of(26.5f));
}

TEST(Packed, ComputesEachHalf) {
  const Registers& values = floats();
  std::vector<WarpValues> in(3);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 3; ++i)
      in[i][lane] = values[(lane + 5 * i) % 32] << 32 | values[(lane + 11 * i + 3) % 32];
  }
  const auto check = [&](const std::string& opcode, unsigned operands, auto compute) {
    const std::vector<OperandGroup> sources(operands, OperandGroup{1, 64});
    const std::vector<WarpValues> used(in.begin(), in.begin() + operands);
    const auto out = run_form({opcode, {{1, 64}}, sources}, used);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      std::uint64_t expected = 0;
      for (const unsigned shift : {0u, 32u}) {
        const float value = compute(float_of(in[0][lane] >> shift), float_of(in[1][lane] >> shift),
                                    float_of(in[2][lane] >> shift));
        expected |= (std::isnan(value) ? 0x7fffffffu : bits_of(value)) << shift;
      }
      EXPECT_EQ(out[0][lane], expected) << opcode;
    }
  };
  check("add.rn.f32x2", 2, [](float a, float b, float) { return a + b; });
  check("sub.f32x2", 2, [](float a, float b, float) { return a - b; });
  check("mul.rn.f32x2", 2, [](float a, float b, float) { return a * b; });
  check("fma.rn.f32x2", 3, [](float a, float b, float c) { return std::fma(a, b, c); });
  check("add.rz.ftz.f32x2", 2, [](float a, float b, float) {
    std::fesetround(FE_TOWARDZERO);
    volatile const float left = a;
    volatile const float sum = left + b;
    std::fesetround(FE_TONEAREST);
    return sum;
  });
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
