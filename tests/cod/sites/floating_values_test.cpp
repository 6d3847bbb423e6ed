// Values as floating-point numbers, and filters by the type of the result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/cod/conformance_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;
constexpr Shape one_thread{{1, 1, 1}, {1, 1, 1}};

/// Results of the classification functions, in the report or on the device.
class Kinds : public testing::TestWithParam<bool> {
 protected:
  static Measured run(const std::string& statements) {
    const std::string code = "for (int i = 0; i < 8; ++i) { " + statements + " }";
    const std::string head = R"(
      static const unsigned int floats[8] = {0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff800000, 0x7f800001};
      static const unsigned long doubles[8] = {0, 0x8000000000000000, 1, 0x800fffffffffffff, 0x0010000000000000,
          0x7fefffffffffffff, 0xfff0000000000000, 0x7ff0000000000001};
      global unsigned int kind[8];
      global float number[8];
    )";
    const std::string report = R"(emit("kind", kind); emit("number", number);)";
    return measure(GetParam() ? head + "ON_KERNEL_ENTRY: { } ON_REPORT: { " + code + report + " }"
                              : head + "ON_KERNEL_ENTRY: { " + code + " } ON_REPORT: { " + report + " }",
                   one_thread);
  }
};

TEST_P(Kinds, ClassifyFloats) {
  const Measured measured = run(
      "float x = asFloat(floats[i]); kind[i] = isNan(x) + 2 * isInf(x) + 4 * isDenormal(x); number[i] = x;");
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.results.at("kind"), ElementsAre(0, 0, 4, 4, 0, 0, 2, 1));
  const std::vector<double>& numbers = measured.results.at("number");
  EXPECT_EQ(numbers[4], std::numeric_limits<float>::min());
  EXPECT_EQ(numbers[5], std::numeric_limits<float>::max());
  EXPECT_EQ(numbers[6], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(numbers[7]));
}

TEST_P(Kinds, ClassifyDoubles) {
  const Measured measured =
      run("double x = asDouble(doubles[i]); kind[i] = isNan(x) + 2 * isInf(x) + 4 * isDenormal(x); number[i] "
          "= x;");
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.results.at("kind"), ElementsAre(0, 0, 4, 4, 0, 0, 2, 1));
}

TEST_P(Kinds, ClassifyBfloats) {
  const Measured measured = run("number[i] = asBfloat16(0x3fc0 + (i << 16)); kind[i] = 0;");
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.results.at("number")[3], 1.5);
}

INSTANTIATE_TEST_SUITE_P(Places, Kinds, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "InTheReport" : "OnTheDevice";
});

TEST(Halves, ConvertToFloats) {
  const Measured measured = measure(R"(
    static const unsigned int halves[6] = {0x3e00, 0xbc00, 0x0001, 0x7c00, 0x7e00, 0x17bff};
    global float number[6];
    ON_KERNEL_ENTRY: { for (int i = 0; i < 6; ++i) number[i] = asHalf(halves[i]); }
  )",
                                    one_thread);
  ASSERT_EQ(measured.failure, "");
  const std::vector<double>& numbers = measured.results.at("number");
  EXPECT_EQ(numbers[0], 1.5);
  EXPECT_EQ(numbers[1], -1);
  EXPECT_EQ(numbers[2], std::ldexp(1.0, -24));
  EXPECT_EQ(numbers[3], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(numbers[4]));
  EXPECT_EQ(numbers[5], 65504);
}

/// Kernel `k` for one thread; `in` contains fives.
std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .pred %p<4>;\n  .reg .b16 %h<4>;\n  .reg .b32 %r<16>;\n  .reg .b64 %rd<4>;\n"
         "  .reg .f32 %f<16>;\n  .reg .f64 %d<4>;\n  ld.param.u64 %rd1, [in];\n  ld.param.u64 %rd2, "
         "[out];\n" +
         body + "  ret;\n}\n";
}

const std::string writing = kernel(R"(
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
  mov.f32 %f5, 0f3F800000;
  add.rn.f32 %f5, %f5, 0f40000000;
  setp.lt.f32 %p1, %f5, %f5;
  @%p1 mov.f32 %f5, 0f00000000;
  cvt.rn.f32.u32 %f6, 7;
  cvt.f64.f32 %d1, %f5;
  add.u32 %r1, 3, 4;
  set.eq.f32.s32 %f7, %r1, 7;
  sqrt.rn.f32 %f8, 0fBF800000;
  st.global.f32 [%rd2], %f8;
)");

TEST(Results, AreSelectedByTheirType) {
  const Measured measured = measure_module(R"(
    global unsigned int floats[INSTRUCTIONS];
    global unsigned int doubles[INSTRUCTIONS];
    global unsigned int others[INSTRUCTIONS];
    ON_INSTRUCTION_AFTER: RESULT("f32"): { floats[instructionId()] = 1; }
    ON_INSTRUCTION_AFTER: RESULT("f64"): { doubles[instructionId()] = 1; }
    ON_INSTRUCTION_AFTER: RESULT("pred"): RESULT("u32"): { others[instructionId()] = 1; }
  )",
                                           one_thread, writing);
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.results.at("floats"), ElementsAre(0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0));
  EXPECT_THAT(measured.results.at("doubles"), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(measured.results.at("others"), ElementsAre(0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0));
}

TEST(Results, AreTheWrittenValues) {
  const Measured measured = measure_module(R"(
    global double number[INSTRUCTIONS];
    global unsigned long third[INSTRUCTIONS];
    global unsigned int nan;
    ON_INSTRUCTION_AFTER: RESULT("f32"): {
      number[instructionId()] = asFloat(resultValue());
      third[instructionId()] = resultValue(2);
      nan += isNan(asFloat(resultValue()));
    }
    ON_INSTRUCTION_AFTER: RESULT("f64"): { number[instructionId()] = asDouble(resultValue()); }
  )",
                                           one_thread, writing);
  ASSERT_EQ(measured.failure, "");
  const std::vector<double>& number = measured.results.at("number");
  EXPECT_EQ(number[2], static_cast<double>(std::bit_cast<float>(5)));
  EXPECT_EQ(number[3], 1);
  EXPECT_EQ(number[4], 3);
  EXPECT_EQ(number[7], 7);
  EXPECT_EQ(number[8], 3);
  EXPECT_EQ(number[10], 1);
  EXPECT_EQ(measured["nan"], 1);
  EXPECT_EQ(measured.results.at("third")[2], 5);
  EXPECT_EQ(measured.results.at("third")[3], 0);
}

TEST(Results, RejectMistakes) {
  EXPECT_EQ(errors_of("ON_INSTRUCTION: RESULT(\"f33\"): { }"),
            "t.cod:1:24: error: 'f33' is not a result type\n"
            "  ON_INSTRUCTION: RESULT(\"f33\"): { }\n"
            "                         ^~~~~\n"
            "  hint: expected a PTX type: \"f32\", \"f64\", \"f16\", \"f16x2\", \"bf16\", \"bf16x2\", "
            "\"s32\", …\n");
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { int n = isNan(1); }"),
            "t.cod:1:34: error: isNan() takes a float or a double, not a value of type int\n"
            "  ON_KERNEL_ENTRY: { int n = isNan(1); }\n"
            "                                   ^\n"
            "  hint: to reinterpret bits, write 'isNan(asFloat(resultValue()))'\n");
  EXPECT_EQ(
      errors_of("ON_KERNEL_ENTRY: { float x = asFloat(1.5); }"),
      "t.cod:1:38: error: asFloat() takes the bits of a number as an integer, not a value of type double\n"
      "  ON_KERNEL_ENTRY: { float x = asFloat(1.5); }\n"
      "                                       ^~~\n"
      "  hint: write 'asFloat(resultValue())'\n");
}

}  // namespace
}  // namespace lynxpp::cod
