#include "ptx/replay/arithmetic.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

WideNumber power_of_two(unsigned exponent) { return WideNumber{1} << exponent; }

/// Returns the signed integer congruent to `number` modulo 2^bits.
std::int64_t wrapped(WideNumber number, unsigned bits) {
  const auto low = static_cast<std::uint64_t>(number);
  return static_cast<std::int64_t>(low << (64 - bits)) >> (64 - bits);
}

/// Returns a form congruent modulo 2^bits with small coefficients.
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

/// Compares two forms as integers.
ReplayedNumber compare(const ThreadForm& left, const ThreadForm& right, Comparison comparison,
                       const ThreadBox& box) {
  const std::optional<ThreadForm> difference = subtract(left, right);
  if (!difference) return {};
  using enum Comparison;
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
  ReplayedNumber problem;  ///< known if there is no problem
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

/// PTX division rounds towards zero.
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
  // The amount has 32 bits; amounts of at least the width shift out all bits.
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

/// Returns the form, or one congruent modulo 2^bits without negative terms if its values have `bits` bits.
ThreadForm as_unsigned(const ThreadForm& form, unsigned bits, const ThreadBox& box) {
  if (bits == 64) return form;
  const auto positive = [&](std::int64_t each) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(each) & bits_below(bits));
  };
  ThreadForm result = number(positive(form.constant));
  for (std::size_t i = 0; i < thread_dimensions; ++i) result.coefficients[i] = positive(form.coefficients[i]);
  return range_of(result, box).greatest < power_of_two(bits) ? result : form;
}

/// Evaluates `form & mask` for constant masks of low bits, or of all but low bits.
ReplayedNumber mask_bits(const ThreadForm& form, std::int64_t mask, unsigned bits, const ThreadBox& box) {
  const auto limit = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(mask) & limit;
  const std::uint64_t others = ~static_cast<std::uint64_t>(mask) & limit;
  if (low == limit) return ReplayedNumber::of(form);
  const bool keeps_low = (low & (low + 1)) == 0;
  const std::uint64_t edge = (keeps_low ? low : others) + 1;
  if ((!keeps_low && (others & (others + 1)) != 0) || edge > std::uint64_t{1} << 62) return {};
  // A value known modulo 2^bits is also known modulo a smaller power of 2.
  const Answer<Division> parts = divide(form, static_cast<std::int64_t>(edge), box);
  if (!parts.value) return ReplayedNumber::after(parts.cut);
  if (keeps_low) return ReplayedNumber::of(parts.value->remainder);
  return wrapped(subtract(form, parts.value->remainder), bits);
}

/// The bits of a form that is read as an unsigned number.
struct FormBits {
  std::uint64_t possible = 0;  ///< those that are 1 in some thread, and perhaps others
  /// No two terms of the sum share a bit, so each bit of the number is a bit of one term.
  bool are_apart = false;
};

/// True if the dimension is one bit that varies in the box.
bool is_bit(const ThreadBox& box, std::size_t dimension) {
  return box.first[dimension] == 0 && box.last[dimension] == 1;
}

/// Returns the bits of one term with a positive coefficient; its greatest value fits 64 bits.
std::uint64_t bits_of_term(const ThreadForm& form, const ThreadBox& box, std::size_t dimension) {
  const auto slope = static_cast<std::uint64_t>(form.coefficients[dimension]);
  if (is_bit(box, dimension)) return slope;
  const auto width = static_cast<unsigned>(std::bit_width(slope * box.last[dimension]));
  return bits_below(width) & ~bits_below(static_cast<unsigned>(std::countr_zero(slope)));
}

/// Precondition: the form is simplified.
FormBits bits_of(const ThreadForm& form, unsigned width, const ThreadBox& box) {
  const std::uint64_t limit = bits_below(width);
  if (form.is_constant()) return {static_cast<std::uint64_t>(form.constant) & limit, true};
  auto all = static_cast<std::uint64_t>(form.constant);
  for (const std::int64_t each : form.coefficients) all |= static_cast<std::uint64_t>(each);
  const std::uint64_t low = bits_below(static_cast<unsigned>(std::countr_zero(all)));
  const NumberRange range = range_of(form, box);
  if (range.least < 0 || range.greatest > limit) return {limit & ~low, false};
  const auto greatest = static_cast<std::uint64_t>(range.greatest);
  FormBits bits{bits_below(static_cast<unsigned>(std::bit_width(greatest))) & ~low, false};
  if (form.constant < 0) return bits;
  auto found = static_cast<std::uint64_t>(form.constant);
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    if (form.coefficients[i] == 0) continue;
    if (form.coefficients[i] < 0) return bits;
    const std::uint64_t term = bits_of_term(form, box, i);
    if ((found & term) != 0) return bits;
    found |= term;
  }
  return {found, true};
}

std::uint64_t combined(ReplayKind kind, std::uint64_t left, std::uint64_t right) {
  switch (kind) {
    case ReplayKind::bit_and: return left & right;
    case ReplayKind::bit_or: return left | right;
    default: return left ^ right;
  }
}

/// Combines a form whose bits are apart with a constant, term by term. Returns nullopt if the constant
/// changes a term that is more than a single bit of the thread index.
std::optional<ThreadForm> combine_terms(ReplayKind kind, const ThreadForm& form, std::uint64_t constant,
                                        unsigned width, const ThreadBox& box) {
  ThreadForm result;
  std::uint64_t free = bits_below(width);  // bits of no term
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    if (form.coefficients[i] == 0) continue;
    const std::uint64_t term = bits_of_term(form, box, i);
    const std::uint64_t met = constant & term;
    free &= ~term;
    if (is_bit(box, i)) {
      const std::uint64_t unset = combined(kind, 0, met);
      sum += unset;
      result.coefficients[i] = static_cast<std::int64_t>(combined(kind, term, met) - unset);
    } else if (met == (kind == ReplayKind::bit_and ? term : 0)) {
      result.coefficients[i] = form.coefficients[i];
    } else if (kind != ReplayKind::bit_and || met != 0) {
      return std::nullopt;
    }
  }
  sum += combined(kind, static_cast<std::uint64_t>(form.constant) & free, constant & free);
  result.constant = static_cast<std::int64_t>(sum);
  return result;
}

/// Combines two forms whose bits are apart, if `other` has only constants where it shares bits with `form`:
/// constants are combined with the form's terms, the rest of `other` is added, or dropped by `and`.
std::optional<ThreadForm> combine_apart(ReplayKind kind, const ThreadForm& form, const ThreadForm& other,
                                        unsigned width, const ThreadBox& box) {
  const std::uint64_t own = bits_of(form, width, box).possible;
  ThreadForm rest = other;
  rest.constant = 0;
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    if (rest.coefficients[i] != 0 && (bits_of_term(rest, box, i) & own) != 0) return std::nullopt;
  }
  const std::uint64_t constant = static_cast<std::uint64_t>(other.constant) & bits_below(width);
  const std::optional<ThreadForm> result = combine_terms(kind, form, constant, width, box);
  return !result || kind == ReplayKind::bit_and ? result : add(*result, rest);
}

/// Returns a cut after which the forms share fewer bits.
Cut cut_towards_apart(const ThreadForm& left, const ThreadForm& right, std::uint64_t shared,
                      const ThreadBox& box) {
  for (const ThreadForm* const form : {&right, &left}) {
    for (std::size_t i = first_bit_dimension; i < thread_dimensions; ++i) {
      if (is_bit(box, i) && (static_cast<std::uint64_t>(form->coefficients[i]) & shared) != 0) return {i, 1};
    }
  }
  return cut_towards_constant(left.is_constant() ? right : left, box);
}

ReplayedNumber combine_bits(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                            const ThreadBox& box) {
  const ThreadForm left = as_unsigned(simplify(sources[0], box), operation.bits, box);
  const ThreadForm right = as_unsigned(simplify(sources[1], box), operation.bits, box);
  const FormBits of_left = bits_of(left, operation.bits, box);
  const FormBits of_right = bits_of(right, operation.bits, box);
  const std::uint64_t shared = of_left.possible & of_right.possible;
  const bool is_and = operation.kind == ReplayKind::bit_and;
  if (shared == 0) return is_and ? ReplayedNumber::of(number(0)) : wrapped(add(left, right), operation.bits);
  if (of_left.are_apart && of_right.are_apart) {
    for (const auto& [form, other] : {std::pair(&left, &right), std::pair(&right, &left)}) {
      const std::optional<ThreadForm> result =
          combine_apart(operation.kind, *form, *other, operation.bits, box);
      if (result) return wrapped(result, operation.bits);
    }
  }
  if (is_and && (left.is_constant() || right.is_constant())) {
    const bool is_left = left.is_constant();
    const ReplayedNumber masked =
        mask_bits(is_left ? right : left, (is_left ? left : right).constant, operation.bits, box);
    if (masked.kind != ReplayedNumber::Kind::unknown) return masked;
  }
  return ReplayedNumber::after(cut_towards_apart(left, right, shared, box));
}

ReplayedNumber choose_number(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                             const ThreadBox& box) {
  const Numbers numbers = read_both(operation, sources, box);
  if (!numbers.problem.is_known()) return numbers.problem;
  const ReplayedNumber less = compare(numbers.first, numbers.second, Comparison::less, box);
  if (!less.is_known()) return less;
  const bool takes_first = (less.form.constant != 0) == (operation.kind == ReplayKind::minimum);
  return ReplayedNumber::of(sources[takes_first ? 0 : 1]);
}

ReplayedNumber compare_and_combine(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                                   const ThreadBox& box) {
  const bool other = sources[2].constant != 0;
  // The result is the same for every outcome of the comparison: the box need not be cut.
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
  if (!is_signed) {
    const ThreadForm positive = as_unsigned(form, bits, box);
    if (positive != form) return ReplayedNumber::of(positive);
  }
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
    // A predicate has one value in a box.
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
    case ReplayKind::generic_of_shared:  // program.h says which space an access refers to
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
      // Narrowing is the same value modulo a smaller power of 2.
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
