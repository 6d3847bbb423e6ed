#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "parse.h"

namespace lynxpp::ptx {
namespace {

/// The initial value of the variable `x` in `declaration`.
InitialValue value_of(const std::string& declaration) {
  const Module module = module_of(declaration);
  const Variable* variable = module.find_variable("x");
  if (variable == nullptr) {
    ADD_FAILURE() << "no variable x";
    return {};
  }
  Result<InitialValue> value = parse_initial_value(module, *variable);
  if (value) return std::move(*value);
  ADD_FAILURE() << render(value.error().diagnostics, module.source());
  return {};
}

/// The bytes as elements of type T.
template <typename T>
std::vector<T> elements_of(const std::string& declaration) {
  const InitialValue value = value_of(declaration);
  EXPECT_TRUE(value.relocations.empty());
  std::vector<T> elements(value.bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), value.bytes.data(), elements.size() * sizeof(T));
  return elements;
}

std::string refusal_of(const std::string& declaration) {
  const Module module = module_of(declaration);
  Result<InitialValue> value = parse_initial_value(module, module.variables.at(0));
  return value ? std::string() : render(value.error().diagnostics);
}

using testing::ElementsAre;

TEST(InitialValue, IsZeroWithoutInitializer) {
  EXPECT_THAT(elements_of<int>(".global .u32 x[3];"), ElementsAre(0, 0, 0));
  EXPECT_TRUE(value_of(".extern .shared .b8 x[];").bytes.empty());
}

TEST(InitialValue, EvaluatesIntegers) {
  EXPECT_THAT(elements_of<std::uint8_t>(".const .b8 x[4] = {0, 0x80, 255, -1};"),
              ElementsAre(0, 128, 255, 255));
  EXPECT_THAT(elements_of<std::int16_t>(".const .s16 x[2] = {-2, 017};"), ElementsAre(-2, 15));
  EXPECT_THAT(elements_of<std::uint64_t>(".global .u64 x = 0xFFFFFFFFFFFFFFFFU;"), ElementsAre(UINT64_MAX));
  EXPECT_THAT(elements_of<int>(".global .u32 x = {7};"), ElementsAre(7));
  EXPECT_THAT(elements_of<int>(".global .u32 x[4] = {1, 2};"), ElementsAre(1, 2, 0, 0)) << "the rest is zero";
  EXPECT_THAT(elements_of<int>(".global .u32 x[] = {1, /* , */ 2, 3,};"), ElementsAre(1, 2, 3));
  EXPECT_THAT(elements_of<int>(".global .u32 x[2] = {};"), ElementsAre(0, 0));
}

TEST(InitialValue, EvaluatesConstantExpressions) {
  EXPECT_THAT(elements_of<int>(".global .s32 x[8] = {1 + 2 * 3, (1 + 2) * 3, 1 << 4 | 1, -(3 - 5), ~0 & 6, 7 "
                               "% 4, 3 > 2 ? 8 : 9, !5};"),
              ElementsAre(7, 9, 17, 2, 6, 3, 8, 0));
  EXPECT_THAT(elements_of<int>(".global .s32 x[4] = {10 / 3, -8 >> 1, 1 == 1 && 2 != 2, WARP_SZ - 1};"),
              ElementsAre(3, -4, 0, 31));
  EXPECT_THAT(elements_of<int>(".global .s32 x[3] = {10 - 3 - 2, 2 - 3 + 4, (.s64) 5};"),
              ElementsAre(5, 3, 5));
}

TEST(InitialValue, EvaluatesFloatingPoint) {
  EXPECT_THAT(elements_of<float>(".global .f32 x[5] = {1.5, -0f40000000, 1e3, 2, 0d3FF0000000000000};"),
              ElementsAre(1.5F, -2.F, 1000.F, 2.F, 1.F));
}

TEST(InitialValue, EvaluatesFloatingPointExpressions) {
  EXPECT_THAT(elements_of<float>(".global .f32 x[4] = {1.0*2.0, (1.0+2.0), -(1.0), 0f40000000};"),
              ElementsAre(2.F, 3.F, -1.F, 2.F));
  EXPECT_THAT(elements_of<double>(".global .f64 x = 1.0/3.0;"), ElementsAre(1. / 3.));
  EXPECT_THAT(elements_of<int>(".global .u32 x = 1.5 < 2.5;"), ElementsAre(1));
}

TEST(InitialValue, AcceptsDoublesInEverySpelling) {
  EXPECT_THAT(elements_of<double>(".global .f64 x[4] = {-5.0e0, 0d4000000000000000, 0f3F800000, 3};"),
              ElementsAre(-5., 2., 1., 3.));
}

TEST(InitialValue, AcceptsFloatPatternsInUntypedBits) {
  EXPECT_THAT(elements_of<std::uint32_t>(".global .b32 x = 0f3F800000;"), ElementsAre(0x3f800000U));
  EXPECT_THAT(elements_of<std::uint64_t>(".global .b64 x = 0d3FF0000000000000;"),
              ElementsAre(0x3ff0000000000000U));
}

TEST(InitialValue, NestedBracesFillRowByRow) {
  EXPECT_THAT(elements_of<int>(".global .u32 x[2][3] = {{1}, {4, 5, 6}};"), ElementsAre(1, 0, 0, 4, 5, 6));
  EXPECT_THAT(elements_of<int>(".global .u32 x[][2] = {{1, 2}, {3}};"), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(elements_of<int>(".global .v2 .u32 x[2] = {{1, 2}, {3, 4}};"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(elements_of<int>(".global .v4 .u32 x = {1, 2, 3, 4};"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(elements_of<int>(".global .u32 x[2][2][1] = {{{1}, {2}}, {{3}, {4}}};"),
              ElementsAre(1, 2, 3, 4));
}

TEST(InitialValue, SeveralNamesShareADeclaration) {
  EXPECT_THAT(elements_of<int>(".global .u32 a = 1, x[2] = {2, 3}, b = 4;"), ElementsAre(2, 3));
}

TEST(InitialValue, RelocatesAddresses) {
  const InitialValue value =
      value_of(".global .align 8 .u64 x[5] = {97, f, generic(v)+8, v - 4, generic(v+2)+1};");
  ASSERT_EQ(value.relocations.size(), 4U);
  ASSERT_EQ(value.bytes.size(), 40U);
  EXPECT_EQ(value.bytes[0], 97);
  const Relocation& function = value.relocations[0];
  EXPECT_EQ(function.offset, 8U);
  EXPECT_EQ(function.bytes, 8U);
  EXPECT_EQ(function.symbol, "f");
  EXPECT_FALSE(function.generic);
  EXPECT_TRUE(value.relocations[1].generic);
  EXPECT_EQ(value.relocations[1].symbol, "v");
  EXPECT_EQ(value.relocations[1].addend, 8);
  EXPECT_EQ(value.relocations[2].addend, -4);
  EXPECT_EQ(value.relocations[3].addend, 3);
}

TEST(InitialValue, MasksAddresses) {
  const InitialValue value =
      value_of(".global .u8 x[4] = {0xFF(v), 0xFF00(v+4), mask(0xff0000, generic(v)+4), 0xFF00(131187)};");
  ASSERT_EQ(value.bytes.size(), 4U);
  EXPECT_EQ(value.bytes[3], 131187 >> 8 & 0xff);
  ASSERT_EQ(value.relocations.size(), 3U);
  EXPECT_EQ(value.relocations[0].shift, 0U);
  EXPECT_EQ(value.relocations[1].shift, 8U);
  EXPECT_EQ(value.relocations[1].offset, 1U);
  EXPECT_EQ(value.relocations[1].bytes, 1U);
  EXPECT_EQ(value.relocations[1].addend, 4);
  EXPECT_EQ(value.relocations[2].shift, 16U);
  EXPECT_TRUE(value.relocations[2].generic);
}

TEST(InitialValue, SymbolsMayBeNamedMaskAndGeneric) {
  const InitialValue value = value_of(".global .u64 x[2] = {mask, generic + 8};");
  ASSERT_EQ(value.relocations.size(), 2U);
  EXPECT_EQ(value.relocations[0].symbol, "mask");
  EXPECT_EQ(value.relocations[1].symbol, "generic");
  EXPECT_EQ(value.relocations[1].addend, 8);
}

TEST(InitialValue, ErrorsAreReported) {
  EXPECT_EQ(refusal_of(".global .u32 q[2] = {1, 2, 3};"),
            "<ptx>:4:28: error: 'q' has more initial values than elements\n");
  EXPECT_EQ(refusal_of(".global .u32 q[2] = {1, {2}};"),
            "<ptx>:4:25: error: the nesting of braces exceeds the array's dimensions\n");
  EXPECT_EQ(refusal_of(".global .u32 q = 1 2;"),
            "<ptx>:4:20: error: unexpected '2' in the initialiser of 'q'\n");
  EXPECT_EQ(refusal_of(".global .u32 q[2] = {1 2};"),
            "<ptx>:4:24: error: expected ',' or '}' instead of '2'\n");
  EXPECT_EQ(refusal_of(".global .u32 q = 0f3F;"),
            "<ptx>:4:18: error: '0f3F' is not a floating-point literal\n"
            "  hint: 0f takes 8 hexadecimal digits, 0d takes 16\n");
  EXPECT_EQ(refusal_of(".global .u16 q = 1.5;"),
            "<ptx>:4:18: error: a floating-point value does not fit the type .u16\n");
  EXPECT_EQ(refusal_of(".global .u16 q = v;"), "<ptx>:4:18: error: an address does not fit the type .u16\n");
  EXPECT_EQ(refusal_of(".global .u8 q = 0xF0(v);"),
            "<ptx>:4:17: error: a mask selects one byte: 0xff, 0xff00, …\n");
  EXPECT_EQ(refusal_of(".global .u32 q = \"text\";"),
            "<ptx>:4:18: error: expected a constant instead of '\"'\n");
  EXPECT_EQ(refusal_of(".global .b8 q[8589934592];"),
            "<ptx>:4:1: error: the variable 'q' is larger than 4 GiB\n");
  EXPECT_EQ(refusal_of(".global .texref q = {1};"),
            "<ptx>:4:1: error: the variable 'q' of type .texref cannot have an initial value\n");
}

}  // namespace
}  // namespace lynxpp::ptx
