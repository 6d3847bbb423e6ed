// ON_REPORT computes the same results as a C++ compiler: both compile the same text.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tests/cod/test_support.h"

#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"

namespace lynxpp::cod {
namespace {

struct Case {
  std::string text;
  bool is_floating = false;
  bool is_signed = false;
  std::uint64_t bits = 0;
};

template <typename T>
Case make_case(const char* text, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return {text, true, true, std::bit_cast<std::uint64_t>(static_cast<double>(value))};
  } else {
    constexpr bool is_truth = std::is_same_v<T, bool>;  // an int in C
    return {text, false, std::is_signed_v<T> || is_truth, static_cast<std::uint64_t>(value)};
  }
}

#define DECLARATIONS                         \
  signed char sc = -5;                       \
  unsigned char uc = 250;                    \
  short s = -30000;                          \
  unsigned short us = 65535;                 \
  int i = -7;                                \
  unsigned u = 4000000000u;                  \
  long l = -5000000000l;                     \
  unsigned long ul = 18446744073709551615ul; \
  float f = 1.5f;                            \
  double d = -2.25;                          \
  int z = 0;
#define TEXT_OF(...) TEXT_OF_EXPANDED(__VA_ARGS__)
#define TEXT_OF_EXPANDED(...) #__VA_ARGS__
#define CASE(...) cases.push_back(make_case(#__VA_ARGS__, (__VA_ARGS__)))

std::vector<Case> cases_of_conversions() {
  DECLARATIONS
  std::vector<Case> cases;
  CASE(sc + uc);
  CASE(s * us);
  CASE(i + u);
  CASE(i < u);
  CASE(l < u);
  CASE(l + u);
  CASE(i + ul);
  CASE(sc > ul);
  CASE(u - 5000000000);
  CASE(us << 4);
  CASE(sc >> 1);
  CASE(u >> 3);
  CASE(l >> 3);
  CASE(ul >> 60);
  CASE(i / 2);
  CASE(i % 3);
  CASE(l / i);
  CASE(u / 7);
  CASE(ul % 1000);
  CASE(i / 2.0);
  CASE(f * i);
  CASE(f + d);
  CASE(f / 3);
  CASE(ul + 0.0);
  CASE((int)d);
  CASE((unsigned char)i);
  CASE((short)u);
  CASE((long)f);
  CASE((float)ul);
  CASE((unsigned long)sc);
  CASE(-u);
  CASE(~uc);
  CASE(!d);
  CASE(!z);
  CASE(-sc);
  CASE(+us);
  return cases;
}

std::vector<Case> cases_of_precedence() {
  DECLARATIONS
  std::vector<Case> cases;
  CASE(1 + 2 * 3 - 4 / 2 % 3);
  CASE(1 << 2 + 1);
  CASE(i & 6 | 8 ^ 3);
  CASE(i == -7 & 1);
  CASE(1 < 2 == 1);
  CASE(z || i && d);
  CASE(z && i || !z);
  CASE(z ? sc : ul);
  CASE(i ? f : i);
  CASE(z ? 1 : i ? 2 : 3);
  CASE(-i * -2);
  CASE(~i + 1);
  CASE(!!i == z + 1);
  CASE(- -i);
  CASE(10 - 5 - 3);
  CASE(100 / 10 / 2);
  CASE(0x7fffffff);
  CASE(0x80000000);
  CASE(2147483648);
  CASE(0xffffffffffffffff);
  CASE(0b1011 + 017);
  CASE(1.5e3f);
  CASE(.5 + 1.);
  CASE('a' + '\n');
  CASE(sizeof(long) + sizeof(short));
  CASE(true + true);
  return cases;
}

void check(const std::vector<Case>& cases) {
  std::string source = "ON_REPORT: {\n" TEXT_OF(DECLARATIONS) "\n";
  for (const Case& each : cases)
    source += "emit(\"" + std::to_string(&each - cases.data()) + "\", " + each.text + ");\n";
  source += "}\n";
  const ReportRun run = run_report(source, {});
  EXPECT_EQ(run.failure, "");
  ASSERT_EQ(run.emitted.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& values = run.emitted[i].values;
    ASSERT_EQ(std::holds_alternative<std::vector<double>>(values), cases[i].is_floating) << cases[i].text;
    if (!cases[i].is_floating) {
      ASSERT_EQ(std::holds_alternative<std::vector<std::int64_t>>(values), cases[i].is_signed)
          << cases[i].text;
    }
    const std::uint64_t bits =
        std::visit([](const auto& each) { return std::bit_cast<std::uint64_t>(each.at(0)); }, values);
    EXPECT_EQ(bits, cases[i].bits) << cases[i].text;
  }
}

TEST(Arithmetic, ConvertsLikeC) { check(cases_of_conversions()); }
TEST(Arithmetic, HasThePrecedenceOfC) { check(cases_of_precedence()); }

double result_of(const std::string& statements) {
  const ReportRun run = run_report("ON_REPORT: { " + statements + " emit(\"r\", r); }", {});
  EXPECT_EQ(run.failure, "");
  return run.number("r");
}

TEST(Arithmetic, AssignmentsConvertToTheirTarget) {
  EXPECT_EQ(result_of("unsigned char r = 250; r += 10;"), 4);
  EXPECT_EQ(result_of("int r = 7; r /= 2.0;"), 3);
  EXPECT_EQ(result_of("int r = 1; r <<= 33 - 30;"), 8);
  EXPECT_EQ(result_of("bool r = 0.5;"), 1);
  EXPECT_EQ(result_of("int a = 3; int r = a++ * 10 + a;"), 34);
  EXPECT_EQ(result_of("int a = 3; int r = --a * 10 + a;"), 22);
  EXPECT_EQ(result_of("int a = 1; int b = 2; int r = a = b = 9; r += a + b;"), 27);
  EXPECT_EQ(result_of("float a = 0.5f; double r = a++; r += a;"), 2);
}

TEST(Arithmetic, DefinesCasesThatCLeavesUndefined) {
  EXPECT_EQ(result_of("int a = 2147483647; int r = a + 1;"), -2147483648.0);
  EXPECT_EQ(result_of("int a = -2147483647 - 1; int b = -1; int r = a / b;"), -2147483648.0);
  EXPECT_EQ(result_of("int a = -2147483647 - 1; int b = -1; int r = a % b;"), 0);
  EXPECT_EQ(result_of("int a = 1; int b = 33; int r = a << b;"), 2);
  EXPECT_EQ(result_of("double a = 1e300; int r = (int)a;"), 2147483647);
  EXPECT_EQ(result_of("double a = -1; unsigned r = (unsigned)a;"), 0);
  EXPECT_EQ(result_of("int r;"), 0);
}

TEST(Arithmetic, ShortCircuitsSkipTheirRightSide) {
  EXPECT_EQ(result_of("int r = 0; 0 && r++; 1 || r++;"), 0);
  EXPECT_EQ(result_of("int r = 0; 1 && r++; 0 || r++;"), 2);
  EXPECT_EQ(result_of("int r = 0; int a = 1 ? 5 : r++; r += a;"), 5);
}

TEST(Arithmetic, ControlFlowFollowsC) {
  EXPECT_EQ(
      result_of(
          "int r = 0; for (int i = 0; i < 10; ++i) { if (i == 3) continue; if (i == 6) break; r += i; }"),
      12);
  EXPECT_EQ(result_of("int r = 0; do r++; while (r < 5);"), 5);
  EXPECT_EQ(result_of("int r = 10; while (r > 3) r -= 2;"), 2);
  EXPECT_EQ(result_of("int r = 0; int i; for (i = 0; ; i++) if (i > 4) break; r = i;"), 5);
  EXPECT_EQ(result_of("int r = 0; { int r = 5; r++; } if (r) r = 1; else if (!r) r = 2; else r = 3;"), 2);
}

TEST(Arithmetic, ConstantsAtFileScopeAreEvaluated) {
  const ReportRun run = run_report(
      "const unsigned A = 3 * (1 << 2) + (5 > 4 ? 1 : 0); const double B = A / 2.0; global int a[A - 3];\n"
      "ON_REPORT: { emit(\"a\", A); emit(\"b\", B); }",
      [] {
        static std::vector<std::int32_t> contents(10);
        LaunchView launch;
        launch.arrays = {bytes_of_vector(contents)};
        return launch;
      }());
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("a"), 13);
  EXPECT_EQ(run.number("b"), 6.5);
}

TEST(Arithmetic, ConstantsSkipOperandsAndCountShiftsByTheWidth) {
  const ReportRun run = run_report(
      "const int OR = 1 || 1 / 0, AND = 0 && 1 / 0, LEFT = 3 << 33, RIGHT = -8 >> 33; const long WIDE = 3l "
      "<< 33;\n"
      "ON_REPORT: { emit(\"or\", OR); emit(\"and\", AND); emit(\"left\", LEFT); emit(\"right\", RIGHT); "
      "emit(\"wide\", WIDE); }",
      LaunchView());
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("or"), 1);
  EXPECT_EQ(run.number("and"), 0);
  EXPECT_EQ(run.number("left"), 6);
  EXPECT_EQ(run.number("right"), -4);
  EXPECT_EQ(run.number("wide"), 25769803776.0);
}

}  // namespace
}  // namespace lynxpp::cod
