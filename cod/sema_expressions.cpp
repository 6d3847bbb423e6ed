// Types of expressions.
#include "cod/analyser.h"
#include "cod/constant.h"

namespace lynxpp::cod {

Type Analyser::value(Expression& expression) {
  const Type type = this->expression(expression);
  if (expression.kind == ExpressionKind::string) {
    error(expression.position, "a string has no value here", "strings are for emit() and print()");
    return Type::none;
  }
  if (type == Type::nothing) {
    error(expression.position, "this has no value");
    return Type::none;
  }
  return type;
}

Type Analyser::expression(Expression& expression) {
  ++context_.uses->nodes;
  switch (expression.kind) {
    case ExpressionKind::integer:
    case ExpressionKind::floating:
    case ExpressionKind::size: return expression.type;
    case ExpressionKind::string: return expression.type = Type::nothing;
    case ExpressionKind::name: return expression.type = name(expression);
    case ExpressionKind::unary: return expression.type = unary(expression);
    case ExpressionKind::postfix: return expression.type = step(expression);
    case ExpressionKind::binary: return expression.type = binary(expression);
    case ExpressionKind::assign: return expression.type = assignment(expression);
    case ExpressionKind::conditional: return expression.type = conditional(expression);
    case ExpressionKind::cast:
      if (expression.type == Type::nothing) {
        static_cast<void>(this->expression(*expression.operands[0]));
        return expression.type;
      }
      static_cast<void>(value(*expression.operands[0]));
      return expression.type;
    case ExpressionKind::call: return expression.type = call(expression);
    case ExpressionKind::index: return expression.type = index(expression);
  }
  return Type::none;
}

Type Analyser::name(Expression& expression) {
  Symbol* symbol = find(expression.text);
  if (symbol == nullptr) {
    if (const auto extent = find_extent(expression.text)) {
      expression.extent = 1 + static_cast<std::uint32_t>(*extent);
      if (!context_.on_host()) used_extents_.insert(*extent);
      return Type::u64;
    }
    if (const RefusedName* refused = find_refused(expression.text)) {
      error(expression.position, std::string(refused->reason), std::string(refused->hint));
    } else if (find_api(expression.text) != nullptr) {
      error(expression.position, "'" + expression.text + "' is a function",
            "call it: '" + expression.text + "()'");
    } else {
      error(expression.position, "unknown name '" + expression.text + "'",
            suggestion(expression.text, visible_names()));
    }
    return Type::none;
  }
  expression.symbol = symbol;
  switch (symbol->kind) {
    case Symbol::Kind::function:
      error(expression.position, "'" + symbol->name + "' is a function",
            "call it: '" + symbol->name + "(...)'");
      return Type::none;
    case Symbol::Kind::array:
      if (!program_.arrays[symbol->index].dimensions.empty()) {
        error(expression.position, "'" + symbol->name + "' is an array",
              "give an index: '" + symbol->name + "[...]'");
        return Type::none;
      }
      expression.kind = ExpressionKind::index;  // `global T name;` is an array without dimensions
      return symbol->type;
    case Symbol::Kind::state:
      if (context_.on_host()) {
        error(expression.position,
              "'" + symbol->name + "' belongs to the threads of the kernel and is gone in ON_REPORT",
              "add it to a 'global' array in ON_KERNEL_EXIT");
        return Type::none;
      }
      context_.uses->states.emplace_back(symbol, expression.position);
      return symbol->type;
    case Symbol::Kind::local:
    case Symbol::Kind::constant: break;
  }
  return symbol->type;
}

bool Analyser::require_integer(const Expression& expression, Type type, const std::string& what) {
  if (type == Type::none) return false;
  if (is_integer(type)) return true;
  error(expression.position, what + " needs integers, and this is a " + name_of(type),
        "cast it, for example to (long)");
  return false;
}

void Analyser::convertible(const Expression& expression, Type from, Type to) {
  // Every arithmetic type converts to every other; value() has reported what is none.
  if (from != Type::none && is_arithmetic(from) && !is_arithmetic(to))
    error(expression.position, "this cannot be converted to void");
}

Type Analyser::unary(Expression& expression) {
  Expression& operand = *expression.operands[0];
  if (expression.op == Operator::increment || expression.op == Operator::decrement) return step(expression);
  if (expression.op == Operator::address_of) {
    error(expression.position, "an address has no value",
          "'&' is for the atomic functions: 'atomicAdd(&counts[i], 1)'");
    return Type::none;
  }
  const Type type = value(operand);
  if (type == Type::none) return type;
  if (expression.op == Operator::logical_not) return Type::i32;
  if (expression.op == Operator::complement && !require_integer(operand, type, "'~'")) return Type::none;
  return promote(type);
}

/// ++ and --, before or behind.
Type Analyser::step(Expression& expression) {
  Expression& target = *expression.operands[0];
  const Type type = value(target);
  if (type == Type::none || !check_target(target)) return Type::none;
  if (type == Type::boolean) {
    error(expression.position, "a bool cannot be stepped", "assign true or false");
    return Type::none;
  }
  return type;
}

bool Analyser::check_target(Expression& target) {
  const Symbol* symbol = target.symbol;
  const bool is_element = target.kind == ExpressionKind::index;
  if (!is_element && (target.kind != ExpressionKind::name || symbol == nullptr)) {
    error(target.position, target.extent != 0 ? "an extent cannot be assigned" : "this cannot be assigned",
          "assign to a variable or to an element of a 'global' array");
    return false;
  }
  if (!is_element && symbol->is_const) {
    error(target.position, "'" + symbol->name + "' is const", "declare it without 'const'");
    return false;
  }
  if (target.symbol->kind == Symbol::Kind::local) ++target.symbol->assignments;
  return true;
}

Type Analyser::binary(Expression& expression) {
  const bool is_logical = expression.op == Operator::logical_and || expression.op == Operator::logical_or;
  const Type left = value(*expression.operands[0]);
  if (is_logical) ++context_.conditions;
  const Type right = value(*expression.operands[1]);
  if (is_logical) {
    --context_.conditions;
    return Type::i32;
  }
  if (left == Type::none || right == Type::none) return Type::none;
  switch (expression.op) {
    case Operator::less:
    case Operator::greater:
    case Operator::less_equal:
    case Operator::greater_equal:
    case Operator::equal:
    case Operator::not_equal: return Type::i32;
    case Operator::remainder:
    case Operator::bit_and:
    case Operator::bit_or:
    case Operator::bit_xor:
    case Operator::shift_left:
    case Operator::shift_right: {
      const bool integers = require_integer(*expression.operands[0], left, "this operator") &&
                            require_integer(*expression.operands[1], right, "this operator");
      if (!integers) return Type::none;
      const bool is_shift = expression.op == Operator::shift_left || expression.op == Operator::shift_right;
      return is_shift ? promote(left) : common_type(left, right);
    }
    default: return common_type(left, right);
  }
}

Type Analyser::conditional(Expression& expression) {
  condition(*expression.operands[0]);
  ++context_.conditions;
  const Type left = value(*expression.operands[1]);
  const Type right = value(*expression.operands[2]);
  --context_.conditions;
  return left == Type::none || right == Type::none ? Type::none : common_type(left, right);
}

Type Analyser::assignment(Expression& expression) {
  Expression& target = *expression.operands[0];
  const Type type = value(target);
  const Type assigned = value(*expression.operands[1]);
  if (type == Type::none || !check_target(target) || assigned == Type::none) return Type::none;
  switch (expression.op) {
    case Operator::remainder:
    case Operator::bit_and:
    case Operator::bit_or:
    case Operator::bit_xor:
    case Operator::shift_left:
    case Operator::shift_right:
      if (!require_integer(target, type, "this operator") ||
          !require_integer(*expression.operands[1], assigned, "this operator")) {
        return Type::none;
      }
      break;
    default: break;
  }
  return type;
}

/// a[i][j] is flattened: the expression names the array and its operands are the indices.
Type Analyser::index(Expression& expression) {
  std::vector<ExpressionPtr> indices;
  ExpressionPtr base = std::move(expression.operands[0]);
  indices.push_back(std::move(expression.operands[1]));
  while (base->kind == ExpressionKind::index) {
    indices.insert(indices.begin(), std::move(base->operands[1]));
    ExpressionPtr inner = std::move(base->operands[0]);
    base = std::move(inner);
  }
  expression.operands = std::move(indices);
  for (const ExpressionPtr& each : expression.operands) require_integer(*each, value(*each), "an index");
  Symbol* symbol = base->kind == ExpressionKind::name ? find(base->text) : nullptr;
  if (symbol == nullptr || symbol->kind != Symbol::Kind::array) {
    const RefusedName* refused =
        symbol == nullptr && base->kind == ExpressionKind::name ? find_refused(base->text) : nullptr;
    if (refused != nullptr) {
      error(base->position, std::string(refused->reason), std::string(refused->hint));
    } else if (symbol == nullptr && base->kind == ExpressionKind::name) {
      error(base->position, "unknown array '" + base->text + "'", suggestion(base->text, visible_names()));
    } else {
      error(base->position, "only 'global' arrays have elements",
            "declare 'global unsigned long name[THREADS];' at file scope");
    }
    return Type::none;
  }
  expression.symbol = symbol;
  const std::size_t dimensions = program_.arrays[symbol->index].dimensions.size();
  if (expression.operands.size() != dimensions) {
    error(expression.position, "'" + symbol->name + "' has " + std::to_string(dimensions) +
                                   " dimensions, not " + std::to_string(expression.operands.size()));
    return Type::none;
  }
  return symbol->type;
}

}  // namespace lynxpp::cod
