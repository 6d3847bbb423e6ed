#include "ptx/parser/constant_expression.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace lynxpp::ptx {
namespace {

struct BinaryOperator {
  std::string_view text;
  int precedence;
};

// Two-character operators first: the first that matches is taken.
constexpr BinaryOperator binary_operators[] = {
    {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"&&", 2}, {"||", 1}, {"*", 10},
    {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<", 7},  {">", 7},  {"&", 5},  {"^", 4},  {"|", 3},
};

class Evaluator {
 public:
  explicit Evaluator(Cursor& cursor) : cursor_(cursor) {}

  std::int64_t conditional() {
    const Nested nested(*this);
    if (cursor_.failed()) return 0;
    const std::int64_t condition = binary(1);
    if (!cursor_.accept('?')) return condition;
    const std::int64_t yes = conditional();
    cursor_.expect(':', "in a conditional expression");
    const std::int64_t no = conditional();
    return condition != 0 ? yes : no;
  }

 private:
  /// Counts the depth of recursion and fails when it is too deep.
  struct Nested {
    explicit Nested(Evaluator& owner) : evaluator(owner) {
      if (++evaluator.depth_ > maximum_nesting) evaluator.cursor_.fail("the expression is nested too deeply");
    }
    ~Nested() { --evaluator.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Evaluator& evaluator;
  };

  const BinaryOperator* next_operator() {
    const std::string_view rest =
        cursor_.text().substr(std::min<std::size_t>(cursor_.position(), cursor_.text().size()));
    for (const BinaryOperator& candidate : binary_operators) {
      if (rest.starts_with(candidate.text)) return &candidate;
    }
    return nullptr;
  }

  std::int64_t binary(int minimum_precedence) {
    std::int64_t left = unary();
    while (!cursor_.failed()) {
      const BinaryOperator* operation = next_operator();
      if (operation == nullptr || operation->precedence < minimum_precedence) break;
      const std::uint32_t place = cursor_.position();
      for (const char c : operation->text) cursor_.accept(c);
      left = apply(operation->text, left, binary(operation->precedence + 1), place);
    }
    return left;
  }

  std::int64_t unary() {
    const Nested nested(*this);
    if (cursor_.failed()) return 0;
    if (cursor_.accept('-')) return static_cast<std::int64_t>(-static_cast<std::uint64_t>(unary()));
    if (cursor_.accept('+')) return unary();
    if (cursor_.accept('!')) return unary() == 0 ? 1 : 0;
    if (cursor_.accept('~')) return ~unary();
    if (cursor_.accept('(')) return parenthesized();
    if (const auto literal = cursor_.integer()) return static_cast<std::int64_t>(*literal);
    if (cursor_.failed()) return 0;
    const std::uint32_t place = cursor_.position();
    const std::string next = cursor_.describe_next();
    if (cursor_.identifier() == "WARP_SZ") return 32;
    cursor_.fail_at(place, "expected an integer constant instead of " + next);
    return 0;
  }

  std::int64_t parenthesized() {
    // A cast: (.s64) or (.u64); all arithmetic is done in 64 bits anyway.
    const std::string_view cast = cursor_.directive();
    if (!cast.empty()) {
      if (cast != ".s64" && cast != ".u64") cursor_.fail("a constant can be cast to .s64 and .u64 only");
      cursor_.expect(')', "after the type of a cast");
      return unary();
    }
    const std::int64_t value = conditional();
    cursor_.expect(')', "in a constant expression");
    return value;
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

std::optional<std::int64_t> constant_expression(Cursor& cursor) {
  const std::int64_t value = Evaluator(cursor).conditional();
  if (cursor.failed()) return std::nullopt;
  return value;
}

}  // namespace lynxpp::ptx
