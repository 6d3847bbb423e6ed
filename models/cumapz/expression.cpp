#include "models/cumapz/expression.h"

#include <utility>

namespace lynxpp::models::cumapz {
namespace {

std::int64_t wrapped(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// The one quotient that overflows 64 bits wraps around.
std::int64_t quotient(std::int64_t a, std::int64_t b) { return b == -1 ? wrapped(0 - bits(a)) : a / b; }
std::int64_t remainder_of(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a % b; }

template <typename Function>
Column each(const Column& a, Function function) {
  Column result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = function(a[i]);
  return result;
}

template <typename Function>
Column each(const Column& a, const Column& b, Function function) {
  Column result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = function(a[i], b[i]);
  return result;
}

/// Inactive threads with a zero divisor get 0.
std::optional<Column> divide(const Column& a, const Column& b, const Mask& mask, bool is_remainder) {
  Column result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (b[i] != 0) {
      result[i] = is_remainder ? remainder_of(a[i], b[i]) : quotient(a[i], b[i]);
    } else if (mask[i] != 0) {
      return std::nullopt;
    }
  }
  return result;
}

Column compute(Operation operation, const Column& a, const Column& b) {
  using enum Operation;
  using Value = std::int64_t;
  switch (operation) {
    case multiply: return each(a, b, [](Value x, Value y) { return wrapped(bits(x) * bits(y)); });
    case add: return each(a, b, [](Value x, Value y) { return wrapped(bits(x) + bits(y)); });
    case subtract: return each(a, b, [](Value x, Value y) { return wrapped(bits(x) - bits(y)); });
    case shift_left: return each(a, b, [](Value x, Value y) { return wrapped(bits(x) << (bits(y) & 63)); });
    case shift_right: return each(a, b, [](Value x, Value y) { return x >> (bits(y) & 63); });
    case less: return each(a, b, [](Value x, Value y) { return Value{x < y}; });
    case greater: return each(a, b, [](Value x, Value y) { return Value{x > y}; });
    case less_equal: return each(a, b, [](Value x, Value y) { return Value{x <= y}; });
    case greater_equal: return each(a, b, [](Value x, Value y) { return Value{x >= y}; });
    case equal: return each(a, b, [](Value x, Value y) { return Value{x == y}; });
    case not_equal: return each(a, b, [](Value x, Value y) { return Value{x != y}; });
    case bit_and: return each(a, b, [](Value x, Value y) { return x & y; });
    case bit_xor: return each(a, b, [](Value x, Value y) { return x ^ y; });
    case bit_or: return each(a, b, [](Value x, Value y) { return x | y; });
    case logical_and: return each(a, b, [](Value x, Value y) { return Value{x != 0 && y != 0}; });
    default: return each(a, b, [](Value x, Value y) { return Value{x != 0 || y != 0}; });
  }
}

/// Evaluates node by node, for the threads of a mask. Operands that an operator does not need are not
/// evaluated, so `n != 0 && a / n` and `n ? a / n : 0` do not divide by zero.
class Evaluation {
 public:
  Evaluation(const Expression& expression, const Frame& frame, std::size_t threads)
      : nodes_(expression.nodes), frame_(frame), threads_(threads) {}

  std::optional<Column> of(std::size_t position, const Mask& mask) const {
    using enum Operation;
    const Expression::Node& node = nodes_[position];
    if (node.operation == number) return Column(threads_, node.value);
    if (node.operation == variable) return frame_[node.slot];
    const std::optional<Column> first = of(node.operands[0], mask);
    if (!first) return std::nullopt;
    switch (node.operation) {
      case negate: return each(*first, [](std::int64_t x) { return wrapped(0 - bits(x)); });
      case logical_not: return each(*first, [](std::int64_t x) { return std::int64_t{x == 0}; });
      case complement: return each(*first, [](std::int64_t x) { return ~x; });
      case conditional: return choose(node, *first, mask);
      default: break;
    }
    const bool is_lazy = node.operation == logical_and || node.operation == logical_or;
    const std::optional<Column> second =
        of(node.operands[1], is_lazy ? where(*first, mask, node.operation == logical_and) : mask);
    if (!second) return std::nullopt;
    if (node.operation == Operation::divide) return cumapz::divide(*first, *second, mask, false);
    if (node.operation == remainder) return cumapz::divide(*first, *second, mask, true);
    return compute(node.operation, *first, *second);
  }

 private:
  static Mask where(const Column& condition, const Mask& mask, bool holds) {
    Mask result(mask.size());
    for (std::size_t i = 0; i < mask.size(); ++i)
      result[i] = mask[i] != 0 && (condition[i] != 0) == holds ? 1 : 0;
    return result;
  }

  std::optional<Column> choose(const Expression::Node& node, const Column& condition,
                               const Mask& mask) const {
    const std::optional<Column> yes = of(node.operands[1], where(condition, mask, true));
    std::optional<Column> result = of(node.operands[2], where(condition, mask, false));
    if (!yes || !result) return std::nullopt;
    for (std::size_t i = 0; i < threads_; ++i) {
      if (condition[i] != 0) (*result)[i] = (*yes)[i];
    }
    return result;
  }

  const std::vector<Expression::Node>& nodes_;
  const Frame& frame_;
  std::size_t threads_;
};

}  // namespace

std::optional<Column> evaluate(const Expression& expression, const Frame& frame, const Mask& mask) {
  return Evaluation(expression, frame, mask.size()).of(expression.nodes.size() - 1, mask);
}

}  // namespace lynxpp::models::cumapz
