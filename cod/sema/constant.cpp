#include "cod/sema/constant.h"

#include <cmath>
#include <limits>

namespace lynxpp::cod {
namespace {

/// Truncates to the width of `type` and extends again.
std::uint64_t normalize(std::uint64_t value, Type type) {
  const std::uint32_t bits = bits_of(type);
  if (bits >= 64) return value;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  value &= mask;
  return is_signed(type) && (value >> (bits - 1)) != 0 ? value | ~mask : value;
}

double as_real(const Constant& value) {
  if (is_floating(value.type)) return value.real;
  return is_signed(value.type) ? static_cast<double>(static_cast<std::int64_t>(value.integer))
                               : static_cast<double>(value.integer);
}

/// Saturates out-of-range values, like the code generators.
std::uint64_t truncated(double real, Type type) {
  if (std::isnan(real)) return 0;
  const int bits = static_cast<int>(bits_of(type));
  if (is_signed(type)) {
    const double limit = std::ldexp(1.0, bits - 1);
    if (real >= limit) return normalize((std::uint64_t{1} << (bits - 1)) - 1, type);
    if (real <= -limit) return normalize(std::uint64_t{1} << (bits - 1), type);
    return normalize(static_cast<std::uint64_t>(static_cast<std::int64_t>(real)), type);
  }
  if (real <= 0) return 0;
  return real >= std::ldexp(1.0, bits) ? normalize(~std::uint64_t{0}, type)
                                       : static_cast<std::uint64_t>(real);
}

Constant truth(bool value) { return {Type::i32, value ? 1u : 0u, 0}; }

template <typename T>
bool compare(Operator op, T left, T right) {
  switch (op) {
    case Operator::less: return left < right;
    case Operator::greater: return left > right;
    case Operator::less_equal: return left <= right;
    case Operator::greater_equal: return left >= right;
    case Operator::equal: return left == right;
    default: return left != right;
  }
}

std::optional<Constant> floating_binary(Operator op, Type type, double left, double right) {
  if (is_comparison(op)) return truth(compare(op, left, right));
  double result = 0;
  switch (op) {
    case Operator::add: result = left + right; break;
    case Operator::subtract: result = left - right; break;
    case Operator::multiply: result = left * right; break;
    case Operator::divide: result = left / right; break;
    default: return std::nullopt;
  }
  return convert({Type::f64, 0, result}, type);
}

std::optional<std::uint64_t> divided(Operator op, Type type, std::uint64_t left, std::uint64_t right) {
  if (right == 0) return std::nullopt;
  if (!is_signed(type)) return op == Operator::divide ? left / right : left % right;
  if (right == ~std::uint64_t{0}) return op == Operator::divide ? 0 - left : 0;
  const auto a = static_cast<std::int64_t>(left);
  const auto b = static_cast<std::int64_t>(right);
  return static_cast<std::uint64_t>(op == Operator::divide ? a / b : a % b);
}

std::optional<Constant> integer_binary(Operator op, Type type, std::uint64_t left, std::uint64_t right) {
  if (is_comparison(op)) {
    return truth(is_signed(type)
                     ? compare(op, static_cast<std::int64_t>(left), static_cast<std::int64_t>(right))
                     : compare(op, left, right));
  }
  std::uint64_t result = 0;
  switch (op) {
    case Operator::add: result = left + right; break;
    case Operator::subtract: result = left - right; break;
    case Operator::multiply: result = left * right; break;
    case Operator::bit_and: result = left & right; break;
    case Operator::bit_or: result = left | right; break;
    case Operator::bit_xor: result = left ^ right; break;
    case Operator::divide:
    case Operator::remainder: {
      const auto quotient = divided(op, type, left, right);
      if (!quotient) return std::nullopt;
      result = *quotient;
      break;
    }
    default: return std::nullopt;
  }
  return Constant{type, normalize(result, type), 0};
}

std::optional<Constant> shifted(const Expression& expression, const Constant& left, const Constant& right) {
  const Type type = promote(left.type);
  const std::uint64_t count = right.integer & (bits_of(type) - 1);
  const std::uint64_t value = convert(left, type).integer;
  if (expression.op == Operator::shift_left) return Constant{type, normalize(value << count, type), 0};
  const std::uint64_t result = is_signed(type)
                                   ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> count)
                                   : value >> count;
  return Constant{type, normalize(result, type), 0};
}

std::optional<Constant> binary(const Expression& expression) {
  const auto left = evaluate(*expression.operands[0]);
  if (!left) return std::nullopt;
  if (expression.op == Operator::logical_and && !is_true(*left)) return truth(false);
  if (expression.op == Operator::logical_or && is_true(*left)) return truth(true);
  const auto right = evaluate(*expression.operands[1]);
  if (!right) return std::nullopt;
  switch (expression.op) {
    case Operator::logical_and:
    case Operator::logical_or: return truth(is_true(*right));
    case Operator::shift_left:
    case Operator::shift_right: return shifted(expression, *left, *right);
    default: break;
  }
  const Type type = common_type(left->type, right->type);
  if (is_floating(type)) return floating_binary(expression.op, type, as_real(*left), as_real(*right));
  return integer_binary(expression.op, type, convert(*left, type).integer, convert(*right, type).integer);
}

std::optional<Constant> unary(const Expression& expression) {
  const auto operand = evaluate(*expression.operands[0]);
  if (!operand) return std::nullopt;
  const Constant value = convert(*operand, promote(operand->type));
  switch (expression.op) {
    case Operator::plus: return value;
    case Operator::minus:
      if (is_floating(value.type)) return Constant{value.type, 0, -value.real};
      return Constant{value.type, normalize(0 - value.integer, value.type), 0};
    case Operator::complement: return Constant{value.type, normalize(~value.integer, value.type), 0};
    case Operator::logical_not: return truth(!is_true(value));
    default: return std::nullopt;
  }
}

}  // namespace

bool is_true(const Constant& value) { return is_floating(value.type) ? value.real != 0 : value.integer != 0; }

Constant convert(const Constant& value, Type type) {
  if (type == Type::boolean) return {type, is_true(value) ? 1u : 0u, 0};
  if (type == Type::f32) return {type, 0, static_cast<float>(as_real(value))};
  if (type == Type::f64) return {type, 0, as_real(value)};
  return {type, is_floating(value.type) ? truncated(value.real, type) : normalize(value.integer, type), 0};
}

std::optional<Constant> evaluate(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::integer:
    case ExpressionKind::size:
      return Constant{expression.type, normalize(expression.value, expression.type), 0};
    case ExpressionKind::floating: return Constant{expression.type, 0, expression.real};
    case ExpressionKind::name:
      if (expression.symbol == nullptr || expression.symbol->kind != Symbol::Kind::constant)
        return std::nullopt;
      return Constant{expression.symbol->type, expression.symbol->value, expression.symbol->real};
    case ExpressionKind::unary: return unary(expression);
    case ExpressionKind::binary: return binary(expression);
    case ExpressionKind::cast: {
      const auto value = evaluate(*expression.operands[0]);
      return value && is_arithmetic(expression.type) ? std::optional(convert(*value, expression.type))
                                                     : std::nullopt;
    }
    case ExpressionKind::conditional: {
      const auto condition = evaluate(*expression.operands[0]);
      if (!condition) return std::nullopt;
      const auto value = evaluate(*expression.operands[is_true(*condition) ? 1 : 2]);
      return value ? std::optional(convert(*value, expression.type)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace lynxpp::cod
