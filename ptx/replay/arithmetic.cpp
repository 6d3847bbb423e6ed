#include "ptx/replay/arithmetic.h"

#include <algorithm>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

WideNumber power_of_two(unsigned exponent) { return WideNumber{1} << exponent; }

/// The signed number that is the same modulo 2^bits.
std::int64_t wrapped(WideNumber number, unsigned bits) {
  const auto low = static_cast<std::uint64_t>(number);
  return static_cast<std::int64_t>(low << (64 - bits)) >> (64 - bits);
}

/// The same modulo 2^bits with small coefficients.
ThreadForm wrapped(const ThreadForm& form, unsigned bits) {
  if (bits == 64) return form;
  ThreadForm result = number(wrapped(form.constant, bits));
  for (std::size_t i = 0; i < thread_dimensions; ++i)
    result.coefficients[i] = wrapped(form.coefficients[i], bits);
  return result;
}

ReplayedNumber wrapped(const std::optional<ThreadForm>& form, unsigned bits) {
  return form ? ReplayedNumber::of(wrapped(*form, bits)) : ReplayedNumber{};
}

/// Of two numbers, as numbers: whether the first is less.
ReplayedNumber compare(const ThreadForm& left, const ThreadForm& right, ReplayComparison comparison,
                       const ThreadBox& box) {
  const std::optional<ThreadForm> difference = subtract(left, right);
  if (!difference) return {};
  using enum ReplayComparison;
  const auto less_than = [&](WideNumber bound, bool negated) {
    const Answer<bool> answer = is_less(*difference, bound, box);
    return answer.value ? ReplayedNumber::of(number(*answer.value != negated ? 1 : 0))
                        : ReplayedNumber::after(answer.cut);
  };
  switch (comparison) {
    case less: return less_than(0, false);
    case greater_or_equal: return less_than(0, true);
    case less_or_equal: return less_than(1, false);
    case greater: return less_than(1, true);
    case equal:
    case unequal: break;
  }
  const ReplayedNumber below = less_than(0, false);
  if (!below.is_known()) return below;
  const bool is_below = below.form.constant != 0;
  const ReplayedNumber above = less_than(1, true);
  if (!is_below && !above.is_known()) return above;
  const bool differs = is_below || above.form.constant != 0;
  return ReplayedNumber::of(number(differs == (comparison == unequal) ? 1 : 0));
}

struct Numbers {
  ReplayedNumber problem;  ///< known: there is none
  ThreadForm first, second;
};

Numbers read_both(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                  const ThreadBox& box) {
  const ReplayedNumber first = read_number(sources[0], operation.bits, operation.is_signed, box);
  if (!first.is_known()) return {first, {}, {}};
  const ReplayedNumber second = read_number(sources[1], operation.bits, operation.is_signed, box);
  return {second, first.form, second.form};
}

ReplayedNumber multiply_numbers(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                                const ThreadBox& box) {
  ThreadForm left = sources[0], right = sources[1];
  if (operation.result_bits > operation.bits) {
    const Numbers numbers = read_both(operation, sources, box);
    if (!numbers.problem.is_known()) return numbers.problem;
    left = numbers.first;
    right = numbers.second;
  }
  left = simplify(left, box);
  right = simplify(right, box);
  if (!left.is_constant() && !right.is_constant())
    return ReplayedNumber::after(cut_towards_constant(right, box));
  if (left.is_constant() && right.is_constant()) {
    const auto product =
        static_cast<std::uint64_t>(left.constant) * static_cast<std::uint64_t>(right.constant);
    const auto sum = product + static_cast<std::uint64_t>(sources[2].constant);
    ThreadForm result = sources[2];
    result.constant = static_cast<std::int64_t>(sum);
    return wrapped(std::optional(result), operation.result_bits);
  }
  const std::optional<ThreadForm> product =
      left.is_constant() ? multiply(right, left.constant) : multiply(left, right.constant);
  return product ? wrapped(add(*product, sources[2]), operation.result_bits) : ReplayedNumber{};
}

/// PTX divides towards zero.
ReplayedNumber divide_numbers(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                              const ThreadBox& box) {
  const Numbers numbers = read_both(operation, sources, box);
  if (!numbers.problem.is_known()) return numbers.problem;
  const ThreadForm divisor = simplify(numbers.second, box);
  if (!divisor.is_constant()) return ReplayedNumber::after(cut_towards_constant(divisor, box));
  if (divisor.constant == 0) return {};
  const bool negative_divisor = divisor.constant < 0;
  if (divisor.constant == INT64_MIN) return {};
  const Answer<bool> negative = is_less(numbers.first, 0, box);
  if (!negative.value) return ReplayedNumber::after(negative.cut);
  const std::optional<ThreadForm> magnitude =
      *negative.value ? multiply(numbers.first, -1) : std::optional(numbers.first);
  if (!magnitude) return {};
  const Answer<Division> parts =
      divide(*magnitude, negative_divisor ? -divisor.constant : divisor.constant, box);
  if (!parts.value) return ReplayedNumber::after(parts.cut);
  const bool is_quotient = operation.kind == ReplayKind::divide;
  const bool flips = is_quotient ? *negative.value != negative_divisor : *negative.value;
  const ThreadForm& result = is_quotient ? parts.value->quotient : parts.value->remainder;
  return wrapped(multiply(result, flips ? -1 : 1), operation.bits);
}

ReplayedNumber shift(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                     const ThreadBox& box) {
  const ThreadForm amount = simplify(sources[1], box);
  if (!amount.is_constant()) return ReplayedNumber::after(cut_towards_constant(amount, box));
  // The amount has 32 bits; from the width on all bits go.
  const auto by = static_cast<std::uint32_t>(amount.constant);
  if (operation.kind == ReplayKind::shift_left) {
    if (by >= operation.bits) return ReplayedNumber::of(number(0));
    if (by == 63) return {};
    return wrapped(multiply(sources[0], std::int64_t{1} << by), operation.bits);
  }
  const ReplayedNumber value = read_number(sources[0], operation.bits, operation.is_signed, box);
  if (!value.is_known()) return value;
  const std::uint32_t most = operation.bits - (operation.is_signed ? 1u : 0u);
  if (by >= operation.bits && !operation.is_signed) return ReplayedNumber::of(number(0));
  const std::uint32_t shift_by = std::min(by, most);
  if (shift_by >= 63) return {};
  const Answer<Division> parts = divide(value.form, std::int64_t{1} << shift_by, box);
  return parts.value ? wrapped(std::optional(parts.value->quotient), operation.bits)
                     : ReplayedNumber::after(parts.cut);
}

/// `form & mask` for constant masks of low bits, or of all but low bits.
ReplayedNumber mask_bits(const ThreadForm& form, std::int64_t mask, unsigned bits, const ThreadBox& box) {
  const auto limit = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(mask) & limit;
  const std::uint64_t others = ~static_cast<std::uint64_t>(mask) & limit;
  if (low == limit) return ReplayedNumber::of(form);
  const bool keeps_low = (low & (low + 1)) == 0;
  const std::uint64_t edge = (keeps_low ? low : others) + 1;
  if ((!keeps_low && (others & (others + 1)) != 0) || edge > std::uint64_t{1} << 62) return {};
  // What is known modulo 2^bits is known modulo less.
  const Answer<Division> parts = divide(form, static_cast<std::int64_t>(edge), box);
  if (!parts.value) return ReplayedNumber::after(parts.cut);
  if (keeps_low) return ReplayedNumber::of(parts.value->remainder);
  return wrapped(subtract(form, parts.value->remainder), bits);
}

/// Bits that cannot meet are added.
ReplayedNumber join_bits(const ThreadForm& high, const ThreadForm& low, unsigned bits, const ThreadBox& box) {
  const NumberRange range = range_of(low, box);
  if (range.least < 0) return {};
  unsigned width = 0;
  while (power_of_two(width) <= range.greatest) ++width;
  const auto is_above = [&](std::int64_t each) {
    return width < 63 && (static_cast<std::uint64_t>(each) & ((std::uint64_t{1} << width) - 1)) == 0;
  };
  const bool meets = !is_above(high.constant) || !std::ranges::all_of(high.coefficients, is_above);
  return meets ? ReplayedNumber{} : wrapped(add(high, low), bits);
}

ReplayedNumber combine_bits(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                            const ThreadBox& box) {
  const ThreadForm left = simplify(sources[0], box);
  const ThreadForm right = simplify(sources[1], box);
  const auto constants = [&]() -> ReplayedNumber {
    switch (operation.kind) {
      case ReplayKind::bit_and: return ReplayedNumber::of(number(left.constant & right.constant));
      case ReplayKind::bit_or: return ReplayedNumber::of(number(left.constant | right.constant));
      default: return ReplayedNumber::of(number(left.constant ^ right.constant));
    }
  };
  if (left.is_constant() && right.is_constant()) return constants();
  if (operation.kind == ReplayKind::bit_and && right.is_constant())
    return mask_bits(left, right.constant, operation.bits, box);
  if (operation.kind == ReplayKind::bit_and && left.is_constant())
    return mask_bits(right, left.constant, operation.bits, box);
  if (operation.kind == ReplayKind::bit_or) {
    const ReplayedNumber joined = join_bits(left, right, operation.bits, box);
    if (joined.is_known()) return joined;
    const ReplayedNumber other = join_bits(right, left, operation.bits, box);
    if (other.is_known()) return other;
  }
  return ReplayedNumber::after(cut_towards_constant(left.is_constant() ? right : left, box));
}

ReplayedNumber choose_number(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                             const ThreadBox& box) {
  const Numbers numbers = read_both(operation, sources, box);
  if (!numbers.problem.is_known()) return numbers.problem;
  const ReplayedNumber less = compare(numbers.first, numbers.second, ReplayComparison::less, box);
  if (!less.is_known()) return less;
  const bool takes_first = (less.form.constant != 0) == (operation.kind == ReplayKind::minimum);
  return ReplayedNumber::of(sources[takes_first ? 0 : 1]);
}

ReplayedNumber compare_and_combine(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                                   const ThreadBox& box) {
  const bool other = sources[2].constant != 0;
  // Decided already, whatever the comparison says: no need to cut the box for it.
  if (operation.logic == ReplayLogic::bit_and && !other) return ReplayedNumber::of(number(0));
  if (operation.logic == ReplayLogic::bit_or && other) return ReplayedNumber::of(number(1));
  const Numbers numbers = read_both(operation, sources, box);
  if (!numbers.problem.is_known()) return numbers.problem;
  const ReplayedNumber result = compare(numbers.first, numbers.second, operation.comparison, box);
  if (!result.is_known() || operation.logic != ReplayLogic::bit_xor) return result;
  return ReplayedNumber::of(number((result.form.constant != 0) != other ? 1 : 0));
}

}  // namespace

ReplayedNumber read_number(const ThreadForm& form, unsigned bits, bool is_signed, const ThreadBox& box) {
  LYNXPP_CHECK(bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64, "not a width of PTX");
  const NumberRange range = range_of(form, box);
  if (bits == 64) {
    const bool fits = range.greatest < power_of_two(63) && range.least >= (is_signed ? -power_of_two(63) : 0);
    return fits ? ReplayedNumber::of(form) : ReplayedNumber{};
  }
  const WideNumber lowest = is_signed ? -power_of_two(bits - 1) : 0;
  if (range.least >= lowest && range.greatest < lowest + power_of_two(bits)) return ReplayedNumber::of(form);
  const std::optional<ThreadForm> shifted = subtract(form, number(static_cast<std::int64_t>(lowest)));
  if (!shifted) return {};
  const Answer<Division> parts = divide(*shifted, static_cast<std::int64_t>(power_of_two(bits)), box);
  if (!parts.value) return ReplayedNumber::after(parts.cut);
  return ReplayedNumber::of(add(parts.value->remainder, number(static_cast<std::int64_t>(lowest))));
}

ReplayedNumber evaluate(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                        const ThreadBox& box) {
  const unsigned bits = operation.bits;
  if (bits == 1) {
    // Predicates are one number in a box.
    const std::int64_t a = sources[0].constant, b = sources[1].constant;
    switch (operation.kind) {
      case ReplayKind::move: return ReplayedNumber::of(number(a));
      case ReplayKind::bit_not: return ReplayedNumber::of(number(a ^ 1));
      case ReplayKind::bit_and: return ReplayedNumber::of(number(a & b));
      case ReplayKind::bit_or: return ReplayedNumber::of(number(a | b));
      case ReplayKind::bit_xor: return ReplayedNumber::of(number(a ^ b));
      default: return {};
    }
  }
  switch (operation.kind) {
    case ReplayKind::move:
    case ReplayKind::generic_of_shared:  // program.h says which of the two an access goes to
    case ReplayKind::shared_of_generic: return ReplayedNumber::of(sources[0]);
    case ReplayKind::add: return wrapped(add(sources[0], sources[1]), bits);
    case ReplayKind::subtract: return wrapped(subtract(sources[0], sources[1]), bits);
    case ReplayKind::negate: return wrapped(multiply(sources[0], -1), bits);
    case ReplayKind::bit_not: return wrapped(subtract(number(-1), sources[0]), bits);
    case ReplayKind::multiply: return multiply_numbers(operation, sources, box);
    case ReplayKind::shift_left:
    case ReplayKind::shift_right: return shift(operation, sources, box);
    case ReplayKind::bit_and:
    case ReplayKind::bit_or:
    case ReplayKind::bit_xor: return combine_bits(operation, sources, box);
    case ReplayKind::minimum:
    case ReplayKind::maximum: return choose_number(operation, sources, box);
    case ReplayKind::divide:
    case ReplayKind::remainder: return divide_numbers(operation, sources, box);
    case ReplayKind::select: return ReplayedNumber::of(sources[sources[2].constant != 0 ? 0 : 1]);
    case ReplayKind::compare: return compare_and_combine(operation, sources, box);
    case ReplayKind::convert: {
      // Narrower: the same number modulo less.
      if (operation.result_bits <= bits) return wrapped(std::optional(sources[0]), operation.result_bits);
      return read_number(sources[0], bits, operation.is_signed, box);
    }
    case ReplayKind::absolute: {
      const ReplayedNumber value = read_number(sources[0], bits, true, box);
      if (!value.is_known()) return value;
      const Answer<bool> negative = is_less(value.form, 0, box);
      if (!negative.value) return ReplayedNumber::after(negative.cut);
      return wrapped(multiply(value.form, *negative.value ? -1 : 1), bits);
    }
    default: return {};
  }
}

}  // namespace lynxpp::ptx
