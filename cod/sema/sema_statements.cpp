// Statements of handlers and helper functions.
#include <algorithm>
#include <utility>

#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {
/// True if only an elected lane finds that the condition holds (does not hold).
bool elects(const Expression& condition, bool holds) {
  switch (condition.kind) {
    case ExpressionKind::call: return holds && is_call_of(condition, Api::least_active_thread_in_warp);
    case ExpressionKind::unary:
      return condition.op == Operator::logical_not && elects(*condition.operands[0], !holds);
    case ExpressionKind::binary:
      return condition.op == (holds ? Operator::logical_and : Operator::logical_or) &&
             (elects(*condition.operands[0], holds) || elects(*condition.operands[1], holds));
    default: return false;
  }
}

void Analyser::statement(Statement& statement) {
  ++context_.uses->nodes;
  switch (statement.kind) {
    case StatementKind::empty: return;
    case StatementKind::block:
      scopes_.emplace_back();
      for (const StatementPtr& child : statement.children) this->statement(*child);
      scopes_.pop_back();
      return;
    case StatementKind::declaration: return declaration(statement);
    case StatementKind::expression:
      statement.expression->discarded = true;
      if (expression(*statement.expression) != Type::none) warn_of_unused_value(*statement.expression);
      return;
    case StatementKind::if_else: return if_statement(statement);
    case StatementKind::while_loop:
    case StatementKind::do_loop:
    case StatementKind::for_loop: return loop_statement(statement);
    case StatementKind::break_loop:
    case StatementKind::continue_loop: return break_or_continue(statement);
    case StatementKind::switch_case: return switch_statement(statement);
    case StatementKind::case_label: return case_label(statement);
    case StatementKind::return_value: return return_statement(statement);
  }
}

void Analyser::warn_of_unused_value(const Expression& expression) {
  if (!expression.setup.empty()) return;  // a call that returns a structure
  switch (expression.kind) {
    case ExpressionKind::assign:
    case ExpressionKind::call:
    case ExpressionKind::conditional: return;
    case ExpressionKind::comma:
      if (!expression.operands.empty()) warn_of_unused_value(*expression.operands.back());
      return;
    case ExpressionKind::binary:
      if (expression.op == Operator::logical_and || expression.op == Operator::logical_or) return;
      break;
    case ExpressionKind::cast:
      if (expression.type == Type::nothing) return;
      break;
    default: break;
  }
  warn(expression.position, "this value is unused", "assign it, or remove the expression");
}

void Analyser::break_or_continue(const Statement& statement) {
  const bool is_break = statement.kind == StatementKind::break_loop;
  if (context_.loops > 0 || (is_break && context_.innermost != nullptr)) return;
  error(statement.position,
        is_break ? "'break' is outside of any loop or switch" : "'continue' is outside of any loop",
        is_break ? "to leave the handler, write 'return;'" : "");
}

void Analyser::switch_statement(Statement& statement) {
  const Type type = value(*statement.condition);
  require_integer(*statement.condition, type, "a switch");
  Context::Switch own{is_integer(type) ? promote(type) : Type::i64, scopes_.size(), {}, false};
  Context::Switch* const outer = std::exchange(context_.innermost, &own);
  branch(*statement.children[0], 0);
  context_.innermost = outer;
}

void Analyser::case_label(Statement& statement) {
  Context::Switch* const here = context_.innermost;
  if (here != nullptr) {
    // A jump to a case skips the declarations before it: on this path the variables are 0 instead of
    // initialised.
    for (std::size_t i = here->scope; i < scopes_.size(); ++i) {
      for (const auto& [name, symbol] : scopes_[i]) symbol->initializer = nullptr;
    }
    context_.branches.back() = ++branches_;
    if (!statement.condition && std::exchange(here->has_default, true))
      error(statement.position, "this switch has more than one 'default'");
  } else {
    error(statement.position,
          std::string(statement.condition ? "'case'" : "'default'") + " is outside of any switch");
  }
  if (statement.condition) {
    const auto constant =
        constant_integer(*statement.condition, "a case value must be a compile-time integer constant");
    if (constant && here != nullptr && !here->cases.insert(convert(*constant, here->type).integer).second)
      error(statement.condition->position, "duplicate case value");
  }
  this->statement(*statement.children[0]);
}

void Analyser::declaration(Statement& statement) {
  for (Declarator& declarator : statement.declarators) {
    if (statement.type == Type::nothing && !declarator.is_pointer)
      return error(statement.position, "a variable cannot have type 'void'");
    ++context_.uses->nodes;
    if (declarator.is_pointer) {
      declare_pointer(statement, declarator);
      continue;
    }
    if (statement.type == Type::structure || !declarator.dimensions.empty()) {
      declare_local(statement, declarator);
      continue;
    }
    if (declarator.has_list) {
      error(declarator.position,
            "'" + declarator.name + "' is a scalar, so its initialiser cannot be a list");
      continue;
    }
    const std::size_t before = errors.size();
    if (declarator.initializer) {
      convertible(*declarator.initializer, value(*declarator.initializer), statement.type);
    } else if (statement.is_const) {
      error(declarator.position, "the constant '" + declarator.name + "' has no initialiser",
            "write '= value'");
    }
    const bool may_fold = statement.is_const && declarator.initializer && errors.size() == before;
    const auto constant = may_fold ? evaluate(*declarator.initializer) : std::nullopt;
    declarator.symbol = new_symbol(constant ? Symbol::Kind::constant : Symbol::Kind::local, declarator.name,
                                   statement.type, declarator.position);
    declarator.symbol->is_const = statement.is_const;
    declarator.symbol->initializer = declarator.initializer.get();
    if (constant) {
      const Constant converted = convert(*constant, statement.type);
      declarator.symbol->value = converted.integer;
      declarator.symbol->real = converted.real;
    }
    add_to_scope(declarator.symbol);
  }
}

void Analyser::condition(Expression& expression) { static_cast<void>(operand(expression)); }

void Analyser::branch(Statement& statement, int election) {
  ++context_.conditions;
  context_.elections += election;
  scopes_.emplace_back();
  context_.branches.push_back(++branches_);
  this->statement(statement);
  context_.branches.pop_back();
  scopes_.pop_back();
  context_.elections -= election;
  --context_.conditions;
}

void Analyser::if_statement(Statement& statement) {
  condition(*statement.condition);
  for (std::size_t i = 0; i < statement.children.size(); ++i)
    branch(*statement.children[i], elects(*statement.condition, i == 0) ? 1 : 0);
}

void Analyser::loop_statement(Statement& statement) {
  scopes_.emplace_back();
  ++context_.loops;
  ++context_.conditions;
  if (statement.children.size() > 1) this->statement(*statement.children[1]);
  if (statement.condition) condition(*statement.condition);
  const bool is_tested_first = statement.kind != StatementKind::do_loop;
  const int election = is_tested_first && statement.condition && elects(*statement.condition, true) ? 1 : 0;
  context_.elections += election;
  if (statement.expression) {
    statement.expression->discarded = true;
    static_cast<void>(expression(*statement.expression));
  }
  context_.elections -= election;
  branch(*statement.children[0], election);
  --context_.conditions;
  --context_.loops;
  scopes_.pop_back();
  warn_of_endless_loop(statement);
}

void Analyser::return_statement(Statement& statement) {
  if (context_.helper == nullptr) {
    if (statement.expression) {
      error(statement.expression->position, "a handler cannot return a value", "write 'return;'");
    }
    return;
  }
  if (!statement.expression) {
    if (context_.result.type != Type::nothing) {
      error(statement.position, "this function must return a value of type " + describe(context_.result),
            "write 'return value;'");
    }
    return;
  }
  if (context_.result.type == Type::nothing) {
    return error(statement.expression->position, "a void function cannot return a value", "write 'return;'");
  }
  if (context_.result.type == Type::structure) {
    // Copies into the function's result variable, where the caller reads it.
    ExpressionPtr copy = record_value(context_.helper->result, *statement.expression);
    if (copy != nullptr) statement.expression = std::move(copy);
    return;
  }
  initial_value(*statement.expression, context_.result);
}

}  // namespace lynxpp::cod
