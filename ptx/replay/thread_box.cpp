#include "ptx/replay/thread_box.h"

#include <algorithm>
#include <limits>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

std::optional<std::int64_t> narrowed(WideNumber number) {
  if (number < std::numeric_limits<std::int64_t>::min() || number > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(number);
}

WideNumber floor_divide(WideNumber number, WideNumber divisor) {
  const WideNumber quotient = number / divisor;
  return number % divisor != 0 && (number < 0) != (divisor < 0) ? quotient - 1 : quotient;
}

/// Returns the dimension along which the form changes most; precondition: it changes along one.
std::size_t widest_dimension(const ThreadForm& form, const ThreadBox& box) {
  const auto spread = [&](std::size_t each) {
    const WideNumber size =
        WideNumber{form.coefficients[each]} * (WideNumber{box.last[each]} - box.first[each]);
    return size < 0 ? -size : size;
  };
  std::size_t widest = 0;
  for (std::size_t each = 1; each < thread_dimensions; ++each) {
    if (spread(each) > spread(widest)) widest = each;
  }
  return widest;
}

Cut middle_of(const ThreadBox& box, std::size_t dimension) {
  const std::uint64_t half = box.extent(dimension) / 2;
  return {dimension, static_cast<std::uint32_t>(box.first[dimension] + half)};
}

template <typename Combine>
std::optional<ThreadForm> combine(const ThreadForm& left, const ThreadForm& right, Combine with) {
  ThreadForm result;
  const std::optional<std::int64_t> constant = narrowed(with(left.constant, right.constant));
  if (!constant) return std::nullopt;
  result.constant = *constant;
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    if ((left.coefficients[i] | right.coefficients[i]) == 0) continue;
    const std::optional<std::int64_t> each = narrowed(with(left.coefficients[i], right.coefficients[i]));
    if (!each) return std::nullopt;
    result.coefficients[i] = *each;
  }
  return result;
}

}  // namespace

std::uint64_t ThreadBox::threads() const {
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < thread_dimensions; ++i) product *= extent(i);
  return product;
}

ThreadForm number(std::int64_t constant) { return {constant, {}}; }

ThreadForm thread_index(ThreadDimension dimension) {
  ThreadForm form;
  form.coefficients[static_cast<std::size_t>(dimension)] = 1;
  return form;
}

ThreadForm thread_index_in_bits(std::size_t bits) {
  LYNXPP_CHECK(bits <= most_thread_bits, "tid.x has fewer bits");
  ThreadForm form;
  form.coefficients[0] = std::int64_t{1} << bits;
  for (std::size_t i = 0; i < bits; ++i) form.coefficients[first_bit_dimension + i] = std::int64_t{1} << i;
  return form;
}

std::optional<ThreadForm> add(const ThreadForm& left, const ThreadForm& right) {
  return combine(left, right, [](WideNumber a, WideNumber b) { return a + b; });
}

std::optional<ThreadForm> subtract(const ThreadForm& left, const ThreadForm& right) {
  return combine(left, right, [](WideNumber a, WideNumber b) { return a - b; });
}

std::optional<ThreadForm> multiply(const ThreadForm& form, std::int64_t factor) {
  return combine(form, {}, [factor](WideNumber a, WideNumber) { return a * factor; });
}

NumberRange range_of(const ThreadForm& form, const ThreadBox& box) {
  NumberRange range{form.constant, form.constant};
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    if (form.coefficients[i] == 0) continue;
    const WideNumber a = WideNumber{form.coefficients[i]} * box.first[i];
    const WideNumber b = WideNumber{form.coefficients[i]} * box.last[i];
    range.least += std::min(a, b);
    range.greatest += std::max(a, b);
  }
  return range;
}

std::array<ThreadBox, 2> divide(const ThreadBox& box, Cut cut) {
  std::array<ThreadBox, 2> parts{box, box};
  parts[0].last[cut.dimension] = cut.position - 1;
  parts[1].first[cut.dimension] = cut.position;
  return parts;
}

Answer<bool> is_less(const ThreadForm& form, WideNumber bound, const ThreadBox& box) {
  const NumberRange range = range_of(form, box);
  if (range.greatest < bound) return {true, {}};
  if (range.least >= bound) return {false, {}};
  const std::size_t dimension = widest_dimension(form, box);
  const WideNumber slope = form.coefficients[dimension];
  const WideNumber first = box.first[dimension];
  const WideNumber last = box.last[dimension];
  // The range of the form without this dimension:
  const WideNumber least = range.least - std::min(slope * first, slope * last);
  const WideNumber greatest = range.greatest - std::max(slope * first, slope * last);
  // slope * x < bound - greatest implies less, slope * x >= bound - least implies not less: cut at the first
  // x on the other side of one of these limits.
  for (const WideNumber limit : {bound - greatest, bound - least}) {
    const WideNumber position = floor_divide(slope > 0 ? limit - 1 : limit, slope) + 1;
    if (position > first && position <= last) return {{}, {dimension, static_cast<std::uint32_t>(position)}};
  }
  return {{}, middle_of(box, dimension)};
}

Answer<Division> divide(const ThreadForm& form, std::int64_t divisor, const ThreadBox& box) {
  LYNXPP_CHECK(divisor > 0, "the divisor is not positive");
  const ThreadForm simple = simplify(form, box);
  Division parts;
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    parts.quotient.coefficients[i] = simple.coefficients[i] / divisor;
    parts.remainder.coefficients[i] = simple.coefficients[i] % divisor;
  }
  const WideNumber quotient = floor_divide(simple.constant, divisor);
  parts.remainder.constant = static_cast<std::int64_t>(simple.constant - quotient * divisor);
  const NumberRange range = range_of(parts.remainder, box);
  const WideNumber lowest = floor_divide(range.least, divisor);
  const WideNumber highest = floor_divide(range.greatest, divisor);
  if (lowest != highest) {
    const WideNumber middle = lowest + (highest - lowest + 1) / 2;
    return {{}, is_less(parts.remainder, middle * divisor, box).cut};
  }
  parts.quotient.constant = static_cast<std::int64_t>(quotient + lowest);
  parts.remainder.constant = static_cast<std::int64_t>(parts.remainder.constant - lowest * divisor);
  return {parts, {}};
}

Cut cut_towards_constant(const ThreadForm& form, const ThreadBox& box) {
  const std::size_t widest = widest_dimension(form, box);
  LYNXPP_CHECK(form.coefficients[widest] != 0 && box.extent(widest) > 1, "the form is constant on the box");
  return middle_of(box, widest);
}

ThreadForm simplify(const ThreadForm& form, const ThreadBox& box) {
  ThreadForm result = form;
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    if (box.first[i] != box.last[i] || form.coefficients[i] == 0) continue;
    const std::optional<std::int64_t> constant =
        narrowed(result.constant + WideNumber{form.coefficients[i]} * box.first[i]);
    if (!constant) continue;
    result.constant = *constant;
    result.coefficients[i] = 0;
  }
  return result;
}

}  // namespace lynxpp::ptx
