// Floating-point instructions compared bit for bit with host arithmetic.
#include <cfenv>

#include "instruction_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using U16 = std::uint16_t;
using S32 = std::int32_t;
using U32 = std::uint32_t;
using S64 = std::int64_t;
using U64 = std::uint64_t;

/// Runs `operation` in a rounding mode; the volatile copies keep it between the mode changes.
template <typename T, typename F, typename... A>
T in_mode(int mode, F operation, A... operands) {
  std::fesetround(mode);
  volatile T result = operation(*const_cast<volatile A*>(&operands)...);
  std::fesetround(FE_TONEAREST);
  return result;
}

TEST(Float, IgnoresTheProgramsOwnModes) {
  const std::vector<float> one{1.0f};
  const std::vector<float> little{0x1p-30f};
  std::fesetround(FE_UPWARD);
  std::feraiseexcept(FE_DIVBYZERO);
  const std::vector<float> sum =
      run_instruction<float, float, float, float>("add.f32 %d, %a, %b;", one, little, little);
  const int mode = std::fegetround();
  const int raised = std::fetestexcept(FE_DIVBYZERO);
  std::fesetround(FE_TONEAREST);
  std::feclearexcept(FE_DIVBYZERO);
  EXPECT_EQ(sum.front(), 1.0f) << "kernels round to nearest";
  EXPECT_EQ(mode, FE_UPWARD) << "the program's own mode is restored";
  EXPECT_NE(raised, 0);
}

TEST(Float, RoundsCorrectly) {
  check2<float, float, float>("add.f32 %d, %a, %b;", [](float a, float b) { return a + b; });
  check2<float, float, float>("sub.rn.f32 %d, %a, %b;", [](float a, float b) { return a - b; });
  check2<float, float, float>("mul.f32 %d, %a, %b;", [](float a, float b) { return a * b; });
  check2<float, float, float>("div.rn.f32 %d, %a, %b;", [](float a, float b) { return a / b; });
  check3<float, float, float, float>("fma.rn.f32 %d, %a, %b, %c;",
                                     [](float a, float b, float c) { return std::fma(a, b, c); });
  check3<float, float, float, float>("mul.rn.f32 %t0, %a, %b; add.rn.f32 %d, %t0, %c;",
                                     [](float a, float b, float c) {
                                       volatile float product = a * b;
                                       return product + c;
                                     });
  check1<float, float>("sqrt.rn.f32 %d, %a;", [](float a) { return std::sqrt(a); });
  check1<float, float>("rcp.rn.f32 %d, %a;", [](float a) { return 1.0f / a; });
  check2<double, double, double>("add.f64 %d, %a, %b;", [](double a, double b) { return a + b; });
  check2<double, double, double>("div.rn.f64 %d, %a, %b;", [](double a, double b) { return a / b; });
  check3<double, double, double, double>("fma.rn.f64 %d, %a, %b, %c;",
                                         [](double a, double b, double c) { return std::fma(a, b, c); });
  check1<double, double>("sqrt.rn.f64 %d, %a;", [](double a) { return std::sqrt(a); });
}

template <typename T>
void check_mode(const std::string& mode, const std::string& type, int host) {
  const std::string tail = "." + mode + "." + type + " %d, %a, %b;";
  check2<T, T, T>("add" + tail, [=](T a, T b) {
    return in_mode<T>(
        host, [](T x, T y) { return x + y; }, a, b);
  });
  check2<T, T, T>("sub" + tail, [=](T a, T b) {
    return in_mode<T>(
        host, [](T x, T y) { return x - y; }, a, b);
  });
  check2<T, T, T>("mul" + tail, [=](T a, T b) {
    return in_mode<T>(
        host, [](T x, T y) { return x * y; }, a, b);
  });
  check2<T, T, T>("div" + tail, [=](T a, T b) {
    return in_mode<T>(
        host, [](T x, T y) { return x / y; }, a, b);
  });
  check1<T, T>("sqrt." + mode + "." + type + " %d, %a;", [=](T a) {
    return in_mode<T>(
        host, [](T x) { return std::sqrt(x); }, a);
  });
  check2<T, T, T>("fma." + mode + "." + type + " %d, %a, %b, %a;", [=](T a, T b) {
    return in_mode<T>(
        host, [](T x, T y) { return std::fma(x, y, x); }, a, b);
  });
}

TEST(Float, RoundsInEveryDirection) {
  for (const auto& [name, host] : {std::pair("rz", FE_TOWARDZERO), {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}}) {
    check_mode<float>(name, "f32", host);
    check_mode<double>(name, "f64", host);
    check1<float, double>(std::string("cvt.") + name + ".f32.f64 %d, %a;", [host = host](double a) {
      return in_mode<float>(
          host, [](double x) { return static_cast<float>(x); }, a);
    });
    check1<float, S64>(std::string("cvt.") + name + ".f32.s64 %d, %a;", [host = host](S64 a) {
      return in_mode<float>(
          host, [](S64 x) { return static_cast<float>(x); }, a);
    });
  }
  // By hand: 2^64 - 1 is between 2^64 - 2^40 and 2^64.
  EXPECT_EQ((run_instruction<float, U64, U64, U64>("cvt.rz.f32.u64 %d, %a;", {~U64{0}}, {0}, {0}))[0],
            0x1.fffffep63f);
  EXPECT_EQ((run_instruction<float, U64, U64, U64>("cvt.rp.f32.u64 %d, %a;", {~U64{0}}, {0}, {0}))[0],
            0x1p64f);
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

TEST(Float, FlushesAndSaturates) {
  check2<float, float, float>("add.ftz.f32 %d, %a, %b;",
                              [](float a, float b) { return flushed(flushed(a) + flushed(b)); });
  check2<float, float, float>("mul.ftz.f32 %d, %a, %b;",
                              [](float a, float b) { return flushed(flushed(a) * flushed(b)); });
  check2<float, float, float>("add.sat.f32 %d, %a, %b;", [](float a, float b) {
    const float sum = a + b;
    return std::isnan(sum) || sum <= 0 ? 0.0f : std::min(sum, 1.0f);
  });
  check1<float, float>("cvt.sat.f32.f32 %d, %a;",
                       [](float a) { return std::isnan(a) || a <= 0 ? 0.0f : std::min(a, 1.0f); });
}

template <typename T>
T order(T a, T b, bool minimum) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) == minimum ? a : b;
  return (a < b) == minimum ? a : b;
}

TEST(Float, OrdersAndSigns) {
  check2<float, float, float>("min.f32 %d, %a, %b;", [](float a, float b) { return order(a, b, true); });
  check2<float, float, float>("max.f32 %d, %a, %b;", [](float a, float b) { return order(a, b, false); });
  check2<double, double, double>("max.f64 %d, %a, %b;",
                                 [](double a, double b) { return order(a, b, false); });
  check2<float, float, float>("min.NaN.f32 %d, %a, %b;", [](float a, float b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<float>::quiet_NaN() : order(a, b, true);
  });
  check1<float, float>("neg.f32 %d, %a;", [](float a) { return -a; }, {0.0f, -1.5f, 3.0f, INFINITY});
  check1<double, double>("abs.f64 %d, %a;", [](double a) { return std::fabs(a); });
  check2<float, float, float>("copysign.f32 %d, %a, %b;",
                              [](float a, float b) { return std::copysign(b, a); });
}

TEST(Float, Compares) {
  check2<U32, float, float>("setp.lt.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;",
                            [](float a, float b) { return U32{a < b}; });
  check2<U32, float, float>("setp.ltu.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;",
                            [](float a, float b) { return U32{!(a >= b)}; });
  check2<U32, double, double>("setp.ne.f64 %p, %a, %b; selp.u32 %d, 1, 0, %p;",
                              [](double a, double b) { return U32{a < b || a > b}; });
  check2<U32, double, double>("setp.neu.f64 %p, %a, %b; selp.u32 %d, 1, 0, %p;",
                              [](double a, double b) { return U32{a != b}; });
  check2<U32, float, float>("setp.nan.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;",
                            [](float a, float b) { return U32{std::isnan(a) || std::isnan(b)}; });
  check2<float, float, float>("set.gt.f32.f32 %d, %a, %b;",
                              [](float a, float b) { return a > b ? 1.0f : 0.0f; });
  check1<U32, float>("testp.subnormal.f32 %p, %a; selp.u32 %d, 1, 0, %p;",
                     [](float a) { return U32{std::fpclassify(a) == FP_SUBNORMAL}; });
  check1<U32, double>("testp.finite.f64 %p, %a; selp.u32 %d, 1, 0, %p;",
                      [](double a) { return U32{std::isfinite(a)}; });
  check1<U32, float>("testp.notanumber.f32 %p, %a; selp.u32 %d, 1, 0, %p;",
                     [](float a) { return U32{std::isnan(a)}; });
}

template <typename I, typename T>
I to_integer(T value, bool wide) {
  if (std::isnan(value)) return wide ? static_cast<I>(U64{1} << (sizeof(I) * 8 - 1)) : I{0};
  const T low = static_cast<T>(std::numeric_limits<I>::min());
  const T high = std::ldexp(T{1}, std::numeric_limits<I>::digits);
  if (value < low) return std::numeric_limits<I>::min();
  if (value >= high) return std::numeric_limits<I>::max();
  return static_cast<I>(value);
}

TEST(Float, ConvertsToIntegers) {
  check1<S32, float>("cvt.rzi.s32.f32 %d, %a;",
                     [](float a) { return to_integer<S32>(std::trunc(a), false); });
  check1<U32, float>("cvt.rni.u32.f32 %d, %a;",
                     [](float a) { return to_integer<U32>(std::nearbyint(a), false); });
  check1<S32, double>("cvt.rmi.s32.f64 %d, %a;",
                      [](double a) { return to_integer<S32>(std::floor(a), true); });
  check1<S64, double>("cvt.rpi.s64.f64 %d, %a;",
                      [](double a) { return to_integer<S64>(std::ceil(a), true); });
  check1<U64, float>("cvt.rzi.u64.f32 %d, %a;", [](float a) { return to_integer<U64>(std::trunc(a), true); });
  check1<S32, float>("cvt.rzi.s8.f32 %d, %a;",
                     [](float a) { return S32{to_integer<std::int8_t>(std::trunc(a), false)}; });
  check1<float, float>("cvt.rni.f32.f32 %d, %a;", [](float a) { return std::nearbyint(a); });
  check1<double, double>("cvt.rmi.f64.f64 %d, %a;", [](double a) { return std::floor(a); });
}

TEST(Float, ConvertsFromIntegersAndFloats) {
  check1<float, S32>("cvt.rn.f32.s32 %d, %a;", [](S32 a) { return static_cast<float>(a); });
  check1<float, U64>("cvt.rn.f32.u64 %d, %a;", [](U64 a) { return static_cast<float>(a); });
  check1<double, S64>("cvt.rn.f64.s64 %d, %a;", [](S64 a) { return static_cast<double>(a); });
  check1<double, float>("cvt.f64.f32 %d, %a;", [](float a) { return static_cast<double>(a); });
  check1<float, double>("cvt.rn.f32.f64 %d, %a;", [](double a) { return static_cast<float>(a); });
  check1<float, U32>("cvt.rn.f32.u8 %d, %a;", [](U32 a) { return static_cast<float>(a & 0xff); });
}

TEST(Float, ApproximatesWithinTheManualsBounds) {
  const std::vector<float> values = {0.25f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, -0.75f};
  const auto near = [&](const std::string& code, auto exact) {
    const std::vector<float> d = run_instruction<float, float, float, float>(code, values, values, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = exact(static_cast<double>(values[i]));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(d[i])) << code;
      } else {
        EXPECT_NEAR(d[i], expected, 1e-6 * (1 + std::fabs(expected))) << code << " at " << values[i];
      }
    }
  };
  near("ex2.approx.f32 %d, %a;", [](double a) { return std::exp2(a); });
  near("lg2.approx.f32 %d, %a;", [](double a) { return std::log2(a); });
  near("sin.approx.f32 %d, %a;", [](double a) { return std::sin(a); });
  near("cos.approx.ftz.f32 %d, %a;", [](double a) { return std::cos(a); });
  near("tanh.approx.f32 %d, %a;", [](double a) { return std::tanh(a); });
  near("rsqrt.approx.f32 %d, %a;", [](double a) { return 1 / std::sqrt(a); });
  near("rcp.approx.f32 %d, %a;", [](double a) { return 1 / a; });
  near("div.full.f32 %d, %a, 3.0;", [](double a) { return a / 3; });
}

// f16 patterns: 0x3c00 is 1, 0x0001 the smallest subnormal, 0x7bff 65504, 0x7c00 infinity.
TEST(Half, Converts) {
  const auto narrow = [](const std::string& code, float value) {
    return run_instruction<U16, float, float, float>(code, {value}, {value}, {value})[0];
  };
  EXPECT_EQ(narrow("cvt.rn.f16.f32 %d, %a;", 1.0f), 0x3c00);
  EXPECT_EQ(narrow("cvt.rn.f16.f32 %d, %a;", 65519.9f), 0x7bff);
  EXPECT_EQ(narrow("cvt.rn.f16.f32 %d, %a;", 65520.0f), 0x7c00);
  EXPECT_EQ(narrow("cvt.rz.f16.f32 %d, %a;", 1e9f), 0x7bff);
  EXPECT_EQ(narrow("cvt.rn.f16.f32 %d, %a;", 0x1p-25f), 0x0000);
  EXPECT_EQ(narrow("cvt.rn.f16.f32 %d, %a;", 0x1.8p-25f), 0x0001);
  EXPECT_EQ(narrow("cvt.rp.f16.f32 %d, %a;", 0x1p-30f), 0x0001);
  EXPECT_EQ(narrow("cvt.rn.f16.f32 %d, %a;", 2049.0f), 0x6800);  // ties to even
  EXPECT_EQ(narrow("cvt.rn.f16.f32 %d, %a;", NAN), 0x7fff);
  EXPECT_EQ(narrow("cvt.rn.bf16.f32 %d, %a;", 1.0f), 0x3f80);
  EXPECT_EQ(narrow("cvt.rn.relu.f16.f32 %d, %a;", -3.0f), 0x0000);
  const std::vector<U16> halves = {0x3c00, 0xc000, 0x0001, 0x7bff, 0xfc00};
  check1<float, U16>(
      "cvt.f32.f16 %d, %a;",
      [](U16 a) {
        return a == 0x3c00   ? 1.0f
               : a == 0xc000 ? -2.0f
               : a == 0x0001 ? 0x1p-24f
               : a == 0x7bff ? 65504.0f
                             : -INFINITY;
      },
      halves);
  check1<S32, U16>(
      "cvt.rzi.s32.f16 %d, %a;",
      [](U16 a) {
        return a == 0x3c00 ? 1 : a == 0xc000 ? -2 : a == 1 ? 0 : a == 0x7bff ? 65504 : INT32_MIN;
      },
      halves);
  EXPECT_EQ(
      (run_instruction<U32, float, float, float>("cvt.rn.f16x2.f32 %d, %a, %b;", {1.0f}, {-2.0f}, {0.0f})[0]),
      0x3c00c000u);
}

TEST(Half, Computes) {
  const auto pair = [](const std::string& code, U32 a, U32 b, U32 c) {
    return run_instruction<U32, U32, U32, U32>(code, {a}, {b}, {c})[0];
  };
  EXPECT_EQ(pair("add.f16x2 %d, %a, %b;", 0x3c003c00, 0x40003c00, 0), 0x42004000u);     // 1+2, 1+1
  EXPECT_EQ(pair("mul.rn.f16x2 %d, %a, %b;", 0x42004000, 0x38003c00, 0), 0x3e004000u);  // 3*.5, 2*1
  EXPECT_EQ(pair("fma.rn.f16x2 %d, %a, %b, %c;", 0x40004000, 0x40004000, 0x3c00bc00), 0x45004200u);  // 5, 3
  EXPECT_EQ(pair("neg.f16x2 %d, %a;", 0x3c00bc00, 0, 0), 0xbc003c00u);
  EXPECT_EQ(pair("max.f16x2 %d, %a, %b;", 0x3c00bc00, 0x00007fff, 0), 0x3c00bc00u);
  EXPECT_EQ(pair("min.NaN.f16x2 %d, %a, %b;", 0x3c00bc00, 0x40007fff, 0), 0x3c007fffu);
  EXPECT_EQ(pair("add.rn.bf16x2 %d, %a, %b;", 0x3f803f80, 0x40003f80, 0), 0x40404000u);
  EXPECT_EQ(pair("set.gt.u32.f16x2 %d, %a, %b;", 0x3c00bc00, 0x00000000, 0), 0xffff0000u);
  EXPECT_EQ(
      pair(
          "setp.lt.f16x2 %p|%q, %a, %b; selp.u32 %t0, 1, 0, %p; selp.u32 %t1, 2, 0, %q; or.b32 %d, %t0, %t1;",
          0x3c00bc00, 0, 0),
      1u);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
