// Operations on forms, evaluated for each thread and compared with the operations on integers.
#include "ptx/replay/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace lynxpp::ptx {
namespace {

using Kind = ReplayKind;
using Numbers = std::array<std::int64_t, 3>;  ///< sign-extended to 64 bits

std::int64_t cut_to(std::uint64_t number, unsigned bits) {
  return static_cast<std::int64_t>(number << (64 - bits)) >> (64 - bits);
}
/// The value as the operation reads it.
WideNumber read(std::int64_t number, const ReplayOperation& operation) {
  if (operation.is_signed) return number;
  return static_cast<std::uint64_t>(number) << (64 - operation.bits) >> (64 - operation.bits);
}

bool holds(Comparison comparison, WideNumber a, WideNumber b) {
  switch (comparison) {
    case Comparison::equal: return a == b;
    case Comparison::unequal: return a != b;
    case Comparison::less: return a < b;
    case Comparison::less_or_equal: return a <= b;
    case Comparison::greater: return a > b;
    case Comparison::greater_or_equal: return a >= b;
  }
  return false;
}

__extension__ using WideBits = unsigned __int128;

/// nullopt if PTX leaves the result undefined.
std::optional<WideNumber> expected_of(const ReplayOperation& operation, const Numbers& numbers) {
  const WideNumber a = read(numbers[0], operation), b = read(numbers[1], operation);
  const auto amount = static_cast<std::uint32_t>(numbers[1]);
  switch (operation.kind) {
    case Kind::add: return a + b;
    case Kind::subtract: return a - b;
    case Kind::negate: return -a;
    case Kind::bit_not: return ~a;
    // Only the lower 64 bits matter; the product of two unsigned numbers may not fit a signed one.
    case Kind::multiply: return static_cast<WideNumber>(WideBits(a) * WideBits(b) + WideBits(numbers[2]));
    case Kind::shift_left: return amount >= operation.bits ? 0 : a * (WideNumber{1} << amount);
    case Kind::shift_right: return a >> std::min(amount, 127u);
    case Kind::bit_and: return a & b;
    case Kind::bit_or: return a | b;
    case Kind::bit_xor: return a ^ b;
    case Kind::minimum: return std::min(a, b);
    case Kind::maximum: return std::max(a, b);
    case Kind::absolute: return numbers[0] < 0 ? -WideNumber{numbers[0]} : WideNumber{numbers[0]};
    case Kind::divide: return b == 0 ? std::nullopt : std::optional(a / b);
    case Kind::remainder: return b == 0 ? std::nullopt : std::optional(a % b);
    case Kind::convert: return a;
    case Kind::select: return numbers[2] != 0 ? a : b;
    case Kind::compare: {
      const bool result = holds(operation.comparison, a, b), other = numbers[2] != 0;
      switch (operation.logic) {
        case ReplayLogic::none: return result;
        case ReplayLogic::bit_and: return result && other;
        case ReplayLogic::bit_or: return result || other;
        case ReplayLogic::bit_xor: return result != other;
      }
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

class Arithmetic : public testing::Test {
 protected:
  int pick(int least, int greatest) { return std::uniform_int_distribution<int>(least, greatest)(random_); }

  ThreadForm form(bool is_constant) {
    static constexpr std::int64_t bases[] = {0,           0, 0, 7, -1, 64, 1 << 20, 0x7fffff80, -0x80000000LL,
                                             0xffffffc0LL};
    ThreadForm made = number(bases[pick(0, 9)] + pick(-40, 40));
    const int scale = 1 << pick(0, 6);
    for (std::size_t i = 0; i < 2 && !is_constant; ++i) made.coefficients[i] = scale * pick(-3, 3);
    return made;
  }

  /// A sum of bits of the thread index at random positions, which may meet.
  ThreadForm form_of_bits() {
    ThreadForm made = number(pick(0, 2) == 0 ? pick(0, 300) : 0);
    for (std::size_t i = 0; i < 4; ++i) {
      if (pick(0, 2) != 0) made.coefficients[first_bit_dimension + i] = std::int64_t{1} << pick(0, 9);
      if (pick(0, 9) == 0) made.coefficients[first_bit_dimension + i] = -1;
    }
    if (pick(0, 1) != 0) made.coefficients[0] = std::int64_t{1} << pick(0, 12);
    return made;
  }

  /// Cuts the box until each part has an answer; returns the number of threads with a known one.
  std::uint64_t check(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources) {
    ThreadBox box;
    box.first = {1, 2, 0, 0, 0, 0};
    box.last = {6, 4, 0, 0, 0, 0, 1, 1, 1, 1};
    std::uint64_t known = 0;
    boxes_ = 0;
    std::vector<ThreadBox> open{box};
    while (!open.empty() && !HasFailure()) {
      const ThreadBox each = open.back();
      open.pop_back();
      const ReplayedNumber result = evaluate(operation, sources, each);
      if (result.kind == ReplayedNumber::Kind::cut) {
        for (const ThreadBox& half : divide(each, result.cut)) open.push_back(half);
      } else if (result.is_known()) {
        known += each.threads();
        ++boxes_;
        compare(operation, sources, each, result.form);
      }
    }
    return known;
  }

  std::uint64_t boxes_ = 0;  ///< of the last check

 private:
  static void compare(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                      const ThreadBox& box, const ThreadForm& result) {
    std::vector<ThreadBox> threads{box};
    for (std::size_t i = 0; i < thread_dimensions; ++i) {
      if (box.extent(i) == 1) continue;
      std::vector<ThreadBox> divided;
      for (ThreadBox each : threads) {
        for (std::uint32_t at = box.first[i]; at <= box.last[i]; ++at) {
          each.first[i] = each.last[i] = at;
          divided.push_back(each);
        }
      }
      threads = std::move(divided);
    }
    for (const ThreadBox& thread : threads) {
      const auto value = [&](const ThreadForm& each) {
        return static_cast<std::uint64_t>(range_of(each, thread).least);
      };
      const Numbers numbers{cut_to(value(sources[0]), operation.bits),
                            cut_to(value(sources[1]), operation.bits),
                            static_cast<std::int64_t>(value(sources[2]))};
      const std::optional<WideNumber> expected = expected_of(operation, numbers);
      if (!expected) continue;
      const unsigned bits = operation.result_bits;
      ASSERT_EQ(cut_to(value(result), bits), cut_to(static_cast<std::uint64_t>(*expected), bits))
          << "operation " << static_cast<int>(operation.kind) << " of " << int{operation.bits}
          << (operation.is_signed ? " signed" : " unsigned") << " bits: " << numbers[0] << ", " << numbers[1]
          << ", " << numbers[2];
    }
  }

  std::mt19937 random_{7};
};

TEST_F(Arithmetic, FormsMatchEveryThread) {
  std::map<Kind, std::uint64_t> known;
  for (int i = 0; i < 60'000 && !HasFailure(); ++i) {
    ReplayOperation operation;
    operation.kind = static_cast<Kind>(pick(static_cast<int>(Kind::add), static_cast<int>(Kind::select)));
    operation.bits = operation.result_bits = pick(0, 3) == 0 ? 64 : 32;
    operation.is_signed = pick(0, 1) != 0;
    const bool may_widen = operation.kind == Kind::multiply || operation.kind == Kind::convert;
    if (may_widen && operation.bits == 32 && pick(0, 1) != 0) operation.result_bits = 64;
    if (operation.kind == Kind::convert && operation.bits == 64) operation.result_bits = 32;
    if (operation.kind == Kind::absolute) operation.is_signed = true;
    operation.comparison = static_cast<Comparison>(pick(0, 5));
    operation.logic = static_cast<ReplayLogic>(pick(0, 3));
    std::array<ThreadForm, 3> sources{form(pick(0, 4) == 0), form(pick(0, 2) != 0), form(true)};
    const bool has_predicate = operation.kind == Kind::compare || operation.kind == Kind::select;
    if (has_predicate) sources[2] = number(pick(0, 1));
    const bool is_shift = operation.kind == Kind::shift_left || operation.kind == Kind::shift_right;
    if (is_shift) sources[1] = number(pick(0, 70));
    if (operation.kind == Kind::divide && pick(0, 1) != 0) sources[1] = number(pick(-9, 9));
    if (operation.kind == Kind::bit_and && pick(0, 1) != 0)
      sources[1] = number((std::int64_t{1} << pick(0, 20)) * (pick(0, 1) != 0 ? 1 : -1) - pick(0, 1));
    known[operation.kind] += check(operation, sources);
  }
  for (const auto& [kind, threads] : known)
    EXPECT_GT(threads, 1000u) << "operation " << static_cast<int>(kind) << "is rarely known";
}

TEST_F(Arithmetic, BitsMatchEveryThread) {
  constexpr Kind kinds[] = {Kind::bit_and, Kind::bit_or, Kind::bit_xor, Kind::shift_right, Kind::shift_left};
  std::uint64_t boxes = 0, known = 0;
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    ReplayOperation operation;
    operation.kind = kinds[pick(0, 4)];
    operation.bits = operation.result_bits = pick(0, 3) == 0 ? 64 : 32;
    const bool is_shift = operation.kind == Kind::shift_left || operation.kind == Kind::shift_right;
    const ThreadForm other = pick(0, 1) != 0 ? form_of_bits() : number(pick(-1, 1) * pick(0, 1 << 13));
    std::array<ThreadForm, 3> sources{form_of_bits(), is_shift ? number(pick(0, 9)) : other, number(0)};
    if (!is_shift && pick(0, 3) == 0) std::swap(sources[0], sources[1]);
    known += check(operation, sources);
    boxes += boxes_;
  }
  EXPECT_GT(known, 20'000u * 6 * 3 * 16 * 98 / 100) << "all but negative numbers of 64 bits";
  EXPECT_LT(boxes, known / 12) << "bits are combined without looking at each thread";
}

TEST_F(Arithmetic, FieldsOfBitsNeedNoCut) {
  ThreadForm index;  // of 16 threads
  for (std::size_t i = 0; i < 4; ++i) index.coefficients[first_bit_dimension + i] = std::int64_t{1} << i;
  const auto boxes = [&](Kind kind, const ThreadForm& left, const ThreadForm& right) {
    ReplayOperation operation;
    operation.kind = kind;
    check(operation, {left, right, number(0)});
    return boxes_;
  };
  EXPECT_EQ(boxes(Kind::bit_and, index, number(6)), 1u);
  EXPECT_EQ(boxes(Kind::bit_or, index, number(6)), 1u);
  EXPECT_EQ(boxes(Kind::bit_xor, index, number(-1)), 1u);
  EXPECT_EQ(boxes(Kind::shift_right, index, number(2)), 1u);
  EXPECT_EQ(boxes(Kind::bit_or, index, *multiply(index, 16)), 1u);
  EXPECT_EQ(boxes(Kind::bit_xor, index, *multiply(index, 4)), 4u) << "two bits meet";
  ThreadForm sign;  // 0 or -1, by one bit of the index
  sign.coefficients[first_bit_dimension] = -1;
  EXPECT_EQ(boxes(Kind::bit_and, sign, number(2080)), 1u);
  EXPECT_EQ(boxes(Kind::bit_xor, *multiply(index, 2), sign), 2u);
}

}  // namespace
}  // namespace lynxpp::ptx
