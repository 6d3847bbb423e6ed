#include "ptx/parser/constant_expression.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

namespace lynxpp::ptx {
namespace {

struct BinaryOperator {
  std::string_view text;
  int precedence;
};

// Two-character operators first: the first match wins.
constexpr BinaryOperator binary_operators[] = {
    {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"&&", 2}, {"||", 1}, {"*", 10},
    {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<", 7},  {">", 7},  {"&", 5},  {"^", 4},  {"|", 3},
};

/// Returns the floating-point literal at the beginning, judged by its characters; empty if another token is
/// next.
std::string_view floating_text(std::string_view text) {
  if (!is_floating_literal(text)) return {};
  const bool is_bits = (text[1] | 0x20) == 'f' || (text[1] | 0x20) == 'd';
  std::size_t length = 0;
  while (length < text.size()) {
    const char c = text[length];
    const bool exponent_sign =
        !is_bits && (c == '+' || c == '-') && length > 0 && (text[length - 1] | 0x20) == 'e';
    if (!is_identifier_character(c) && c != '.' && !exponent_sign) break;
    ++length;
  }
  return text.substr(0, length);
}

Constant of_integer(std::int64_t value) {
  Constant constant;
  constant.integer = value;
  return constant;
}

Constant of_double(double value) {
  Constant constant;
  constant.is_floating = true;
  constant.floating.bits = std::bit_cast<std::uint64_t>(value);
  return constant;
}

class Evaluator {
 public:
  explicit Evaluator(Cursor& cursor) : cursor_(cursor) {}

  Constant conditional() {
    const Nested nested(*this);
    if (cursor_.failed()) return {};
    const std::uint32_t place = cursor_.position();
    const Constant condition = binary(1);
    if (!cursor_.accept('?')) return condition;
    const Constant yes = conditional();
    cursor_.expect(':', "in a conditional expression");
    const Constant no = conditional();
    if (condition.is_floating || yes.is_floating || no.is_floating)
      return fail_at(place, "operands of '?' must be integers");
    return condition.integer != 0 ? yes : no;
  }

 private:
  /// Tracks the recursion depth and fails if it is too deep.
  struct Nested {
    explicit Nested(Evaluator& owner) : evaluator(owner) {
      if (++evaluator.depth_ > maximum_nesting) evaluator.cursor_.fail("the expression is nested too deeply");
    }
    ~Nested() { --evaluator.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Evaluator& evaluator;
  };

  Constant fail_at(std::uint32_t place, std::string message) {
    cursor_.fail_at(place, std::move(message));
    return {};
  }

  std::string_view rest() {
    return cursor_.text().substr(std::min<std::size_t>(cursor_.position(), cursor_.text().size()));
  }

  const BinaryOperator* next_operator() {
    const std::string_view text = rest();
    for (const BinaryOperator& candidate : binary_operators) {
      if (text.starts_with(candidate.text)) return &candidate;
    }
    return nullptr;
  }

  Constant binary(int minimum_precedence) {
    Constant left = unary();
    while (!cursor_.failed()) {
      const BinaryOperator* operation = next_operator();
      if (operation == nullptr || operation->precedence < minimum_precedence) break;
      const std::uint32_t place = cursor_.position();
      for (const char c : operation->text) cursor_.accept(c);
      const Constant right = binary(operation->precedence + 1);
      if (cursor_.failed()) break;
      left = apply(operation->text, left, right, place);
    }
    return left;
  }

  Constant unary() {
    const Nested nested(*this);
    if (cursor_.failed()) return {};
    const std::uint32_t place = cursor_.position();
    for (const char sign : {'-', '+', '!', '~'}) {
      if (cursor_.accept(sign)) return apply_sign(sign, unary(), place);
    }
    if (cursor_.accept('(')) return parenthesized();
    if (const std::string_view text = floating_text(rest()); !text.empty()) return floating(text, place);
    if (const auto literal = cursor_.integer()) return of_integer(static_cast<std::int64_t>(*literal));
    if (cursor_.failed()) return {};
    const std::string next = cursor_.describe_next();
    if (cursor_.identifier() == "WARP_SZ") return of_integer(32);
    return fail_at(place, "expected a constant instead of " + next);
  }

  Constant floating(std::string_view text, std::uint32_t place) {
    const auto literal = parse_float_literal(text);
    if (!literal) {
      cursor_.fail_at(place, "'" + std::string(text) + "' is not a floating-point literal",
                      "0f takes 8 hexadecimal digits, 0d takes 16");
      return {};
    }
    cursor_.take(static_cast<std::uint32_t>(text.size()));
    Constant constant;
    constant.is_floating = true;
    constant.floating = *literal;
    return constant;
  }

  Constant apply_sign(char sign, Constant operand, std::uint32_t place) {
    if (cursor_.failed()) return {};
    if (operand.is_floating) {
      if (sign == '!' || sign == '~') return fail_at(place, std::string("'") + sign + "' needs an integer");
      if (sign == '-') operand.floating.bits ^= std::uint64_t{1} << (operand.floating.is_single ? 31 : 63);
      return operand;
    }
    const std::int64_t value = operand.integer;
    switch (sign) {
      case '-': return of_integer(static_cast<std::int64_t>(-static_cast<std::uint64_t>(value)));
      case '!': return of_integer(value == 0 ? 1 : 0);
      case '~': return of_integer(~value);
      default: return operand;
    }
  }

  Constant parenthesized() {
    // A cast: (.s64) or (.u64); all arithmetic uses 64 bits.
    const std::uint32_t place = cursor_.position();
    const std::string_view cast = cursor_.directive();
    if (!cast.empty()) {
      if (cast != ".s64" && cast != ".u64") cursor_.fail("a constant can be cast to .s64 and .u64 only");
      cursor_.expect(')', "after the type of a cast");
      const Constant value = unary();
      return value.is_floating ? fail_at(place, "a cast needs an integer") : value;
    }
    const Constant value = conditional();
    cursor_.expect(')', "in a constant expression");
    return value;
  }

  Constant apply(std::string_view operation, const Constant& left, const Constant& right,
                 std::uint32_t place) {
    if (!left.is_floating && !right.is_floating)
      return of_integer(apply(operation, left.integer, right.integer, place));
    if (left.is_floating != right.is_floating)
      return fail_at(place, "'" + std::string(operation) + "' of an integer and a floating-point number");
    if (left.floating.is_single || right.floating.is_single)
      return fail_at(place, "a number written as 0f… cannot be part of an expression");
    return apply(operation, left.floating.value(), right.floating.value(), place);
  }

  Constant apply(std::string_view operation, double left, double right, std::uint32_t place) {
    if (operation == "+") return of_double(left + right);
    if (operation == "-") return of_double(left - right);
    if (operation == "*") return of_double(left * right);
    if (operation == "/") {
      if (right == 0) return fail_at(place, "division by zero in a constant expression");
      return of_double(left / right);
    }
    if (operation == "<") return of_integer(left < right);
    if (operation == ">") return of_integer(left > right);
    if (operation == "<=") return of_integer(left <= right);
    if (operation == ">=") return of_integer(left >= right);
    if (operation == "==") return of_integer(left == right);
    if (operation == "!=") return of_integer(left != right);
    return fail_at(place, "'" + std::string(operation) + "' needs integers");
  }

  std::int64_t apply(std::string_view operation, std::int64_t left, std::int64_t right, std::uint32_t place) {
    const auto a = static_cast<std::uint64_t>(left);
    const auto b = static_cast<std::uint64_t>(right);
    const auto wrap = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    if (operation == "+") return wrap(a + b);
    if (operation == "-") return wrap(a - b);
    if (operation == "*") return wrap(a * b);
    if (operation == "/" || operation == "%") {
      if (right == 0) {
        cursor_.fail_at(place, "division by zero in a constant expression");
        return 0;
      }
      if (right == -1) return operation == "/" ? wrap(0 - a) : 0;
      return operation == "/" ? left / right : left % right;
    }
    if (operation == "<<") return b > 63 ? 0 : wrap(a << b);
    if (operation == ">>") return left >> (b > 63 ? 63 : b);
    if (operation == "&") return wrap(a & b);
    if (operation == "|") return wrap(a | b);
    if (operation == "^") return wrap(a ^ b);
    if (operation == "&&") return left != 0 && right != 0;
    if (operation == "||") return left != 0 || right != 0;
    if (operation == "<") return left < right;
    if (operation == ">") return left > right;
    if (operation == "<=") return left <= right;
    if (operation == ">=") return left >= right;
    if (operation == "==") return left == right;
    return left != right;
  }

  Cursor& cursor_;
  std::uint32_t depth_ = 0;
};

}  // namespace

bool is_floating_literal(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (text.size() < 2 || digits == text.size()) return false;
  const char next = text[digits];
  if (digits == 1 && text[0] == '0' && std::string_view("fFdD").find(next) != std::string_view::npos)
    return true;
  if (next == '.')
    return digits > 0 || std::string_view("0123456789").find(text[1]) != std::string_view::npos;
  return digits > 0 && (next | 0x20) == 'e';
}

std::optional<Constant> constant_expression(Cursor& cursor) {
  const Constant value = Evaluator(cursor).conditional();
  if (cursor.failed()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_expression(Cursor& cursor) {
  const std::uint32_t place = cursor.position();
  const auto value = constant_expression(cursor);
  if (!value) return std::nullopt;
  if (!value->is_floating) return value->integer;
  cursor.fail_at(place, "expected an integer constant instead of a floating-point number");
  return std::nullopt;
}

}  // namespace lynxpp::ptx
