// Tests one PTX instruction on many operand values against a host function.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {

/// Returns a kernel that loads %a, %b, %c of the given widths, runs `code`, and stores %d. `code` may use the
/// predicates %p and %q, 32-bit registers %t<4> and 64-bit registers %w<4>.
std::string instruction_kernel(const std::string& code, unsigned d_bits, unsigned a_bits, unsigned b_bits,
                               unsigned c_bits);

/// Edge cases of integer instructions.
template <typename T>
std::vector<T> integer_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           1,
                           2,
                           3,
                           7,
                           31,
                           32,
                           33,
                           64,
                           100,
                           Limits::max(),
                           Limits::min(),
                           static_cast<T>(-1),
                           static_cast<T>(-2),
                           static_cast<T>(-100),
                           static_cast<T>(Limits::max() / 2 + 1),
                           static_cast<T>(0x5a5a5a5a5a5a5a5a),
                           static_cast<T>(0x8000000080000000)};
  std::uint64_t state = 12345;
  for (int i = 0; i < 6; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<T>(state >> 13));
  }
  return values;
}

/// Edge cases of floating-point instructions.
template <typename T>
std::vector<T> float_values() {
  using Limits = std::numeric_limits<T>;
  return {T(0),
          T(-0.0),
          T(1),
          T(-1),
          T(0.5),
          T(1.5),
          T(2.5),
          T(-2.5),
          T(3.1415926535897932),
          T(1e-3),
          T(-7.75e4),
          T(0.1),
          T(16777217.0),
          T(1) / T(3),
          Limits::max(),
          -Limits::max(),
          Limits::min(),
          Limits::min() / 2,
          -Limits::denorm_min(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN()};
}

template <typename T>
std::vector<T> values_of() {
  if constexpr (std::is_floating_point_v<T>) {
    return float_values<T>();
  } else {
    return integer_values<T>();
  }
}

/// Compares bit patterns; in double precision all NaNs are equal, because operands determine the payload.
template <typename T>
::testing::AssertionResult same(T actual, T expected) {
  if (std::memcmp(&actual, &expected, sizeof(T)) == 0) return ::testing::AssertionSuccess();
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(actual) && std::isnan(expected)) return ::testing::AssertionSuccess();
  }
  if constexpr (std::is_same_v<T, float>) {
    // Single precision has one NaN.
    if (std::isnan(expected) && std::bit_cast<std::uint32_t>(actual) == 0x7fffffffu)
      return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "got " << +actual << ", expected " << +expected;
}

/// Runs `code` on the operand tuples and returns one result per tuple.
template <typename D, typename A, typename B, typename C>
std::vector<D> run_instruction(const std::string& code, const std::vector<A>& a, const std::vector<B>& b,
                               const std::vector<C>& c) {
  std::vector<D> d(a.size());
  const auto module =
      load(instruction_kernel(code, sizeof(D) * 8, sizeof(A) * 8, sizeof(B) * 8, sizeof(C) * 8));
  if (module == nullptr) return d;
  const auto count = static_cast<std::uint32_t>(a.size());
  const Arguments arguments(d.data(), a.data(), b.data(), c.data(), count);
  const Status status =
      module->launch("test", {{(count + 63) / 64, 1, 1}, {64, 1, 1}, 0}, arguments.bytes(), nullptr);
  EXPECT_EQ(text_of(status), "") << code;
  return d;
}

/// Checks d = f(a, b, c) for all combinations of the types' values; operands that `f` does not take are
/// fixed.
template <typename D, typename A, typename F>
void check1(const std::string& code, F f, const std::vector<A>& values = values_of<A>()) {
  const std::vector<D> d = run_instruction<D, A, A, A>(code, values, values, values);
  for (std::size_t i = 0; i < d.size(); ++i) {
    EXPECT_TRUE(same<D>(d[i], f(values[i]))) << code << " with a = " << +values[i];
  }
}

template <typename D, typename A, typename B, typename F>
void check2(const std::string& code, F f) {
  std::vector<A> a;
  std::vector<B> b;
  for (const A x : values_of<A>()) {
    for (const B y : values_of<B>()) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const std::vector<D> d = run_instruction<D, A, B, B>(code, a, b, b);
  for (std::size_t i = 0; i < d.size(); ++i) {
    EXPECT_TRUE(same<D>(d[i], f(a[i], b[i]))) << code << " with a = " << +a[i] << ", b = " << +b[i];
  }
}

template <typename D, typename A, typename B, typename C, typename F>
void check3(const std::string& code, F f) {
  std::vector<A> a;
  std::vector<B> b;
  std::vector<C> c;
  for (const A x : values_of<A>()) {
    for (const B y : values_of<B>()) {
      for (const C z : values_of<C>()) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
    }
  }
  const std::vector<D> d = run_instruction<D, A, B, C>(code, a, b, c);
  for (std::size_t i = 0; i < d.size(); ++i) {
    ASSERT_TRUE(same<D>(d[i], f(a[i], b[i], c[i])))
        << code << " with a = " << +a[i] << ", b = " << +b[i] << ", c = " << +c[i];
  }
}

}  // namespace lynxpp::device::cpu::test
