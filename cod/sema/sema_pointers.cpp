// Pointers. A pointer knows the array that it was derived from. Its target is an element of a separate
// symbol, `Symbol::target`, whose first dimension is the offset from the pointer, so the rest of semantic
// analysis sees elements of arrays.
#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

bool is_null_constant(const Expression& expression) {
  if (expression.kind == ExpressionKind::null) return true;
  return expression.kind == ExpressionKind::integer && expression.value == 0 && is_integer(expression.type);
}

void make_null(Expression& expression, const FullType& type) {
  expression.kind = ExpressionKind::null;
  expression.operands.clear();
  expression.take_type(type);
  expression.type = Type::pointer;
}

bool same_pointee(const FullType& a, const FullType& b) {
  return a.pointee == b.pointee && a.structure == b.structure;
}

}  // namespace

std::string Analyser::describe(const FullType& type) const {
  const auto name = [&](Type each) {
    return each == Type::structure ? "struct " + type.structure : name_of(each);
  };
  if (type.type != Type::pointer) return name(type.type);
  return (type.to_const ? "const " : "") + name(type.pointee) + " *";
}

Type Analyser::operand(Expression& expression) {
  decay(expression);
  const Type type = this->expression(expression);
  return has_value(expression, type) ? type : Type::none;
}

// ---------------------------------------------------------------- variables

Type Analyser::checked_pointee(const FullType& pointer, const Position& position) {
  if (pointer.pointee != Type::nothing) return pointer.pointee;
  error(position, "a pointer needs a type to point to", "for example, write 'unsigned long *'");
  return Type::i32;
}

Symbol* Analyser::make_pointer(const std::string& name, const FullType& type, const Position& position) {
  Symbol* symbol = new_symbol(Symbol::Kind::local, name, Type::pointer, position);
  static_cast<FullType&>(*symbol) = type;
  symbol->type = Type::pointer;
  symbol->pointee = checked_pointee(type, position);
  symbol->assignments = 1;
  symbol->target =
      make_variable(Memory::indirect,
                    {"*" + name, symbol->pointee, type.structure, {{Extent::constant, 1, "*"}}, position});
  std::uint32_t leaf = 0;
  for_each_part(*symbol->target, [&](Symbol& part) {
    part.pointer = symbol;
    part.is_const = symbol->to_const;
    if (part.kind != Symbol::Kind::record) part.leaf = leaf++;
  });
  return symbol;
}

Symbol* Analyser::hidden_pointer(const Expression& value) { return make_pointer("", value, value.position); }

void Analyser::declare_pointer(const Statement& statement, Declarator& declarator) {
  const FullType type{Type::pointer, statement.structure, statement.type, statement.is_const};
  if (!declarator.dimensions.empty()) {
    error(declarator.position, "arrays of pointers are not supported", "use an array of indices");
  } else if (declarator.has_list) {
    error(declarator.position, "'" + declarator.name + "' is a pointer, so its initialiser cannot be a list");
  }
  if (declarator.initializer) static_cast<void>(pointer_value(*declarator.initializer, type));
  declarator.symbol = make_pointer(declarator.name, type, declarator.position);
  declarator.symbol->is_const = declarator.is_const_pointer;
  add_to_scope(declarator.symbol);
}

// ---------------------------------------------------------------- values

/// Returns the array that `expression` names with one index too few; null if it is something else. Has no
/// side effects.
const Symbol* Analyser::whole_array(const Expression& expression, std::size_t& indices) const {
  switch (expression.kind) {
    case ExpressionKind::name: return find(expression.text);
    case ExpressionKind::unary:
      if (expression.op != Operator::dereference) return nullptr;
      break;
    case ExpressionKind::index: break;
    case ExpressionKind::member: {
      const Symbol* record = whole_array(*expression.operands[0], indices);
      if (record == nullptr || record->kind != Symbol::Kind::record) return nullptr;
      for (const auto& [name, field] : record->fields) {
        if (name == expression.text) return field;
      }
      return nullptr;
    }
    default: return nullptr;
  }
  if (expression.operands.empty() || expression.symbol != nullptr) return nullptr;
  const Symbol* symbol = whole_array(*expression.operands[0], indices);
  ++indices;
  return symbol != nullptr && symbol->target != nullptr && indices == 1 ? symbol->target : symbol;
}

/// Converts an array to a pointer to its first element.
void Analyser::decay(Expression& expression) {
  std::size_t indices = 0;
  const Symbol* symbol = whole_array(expression, indices);
  const bool has_elements =
      symbol != nullptr && (symbol->kind == Symbol::Kind::array || symbol->kind == Symbol::Kind::record);
  if (!has_elements || symbol->collection != nullptr || symbol->dimensions.size() != indices + 1) return;
  const Position position = expression.position;
  ExpressionPtr element = make_expression(ExpressionKind::index, position);
  element->operands.push_back(std::make_unique<Expression>(std::move(expression)));
  element->operands.push_back(make_integer(0, Type::i64, position));
  expression = std::move(*make_expression(ExpressionKind::unary, position));
  expression.op = Operator::address_of;
  expression.operands.push_back(std::move(element));
}

Type Analyser::address(Expression& expression) {
  Expression& of = *expression.operands[0];
  const bool may_be_lvalue = of.kind == ExpressionKind::name || of.kind == ExpressionKind::index ||
                             of.kind == ExpressionKind::member ||
                             (of.kind == ExpressionKind::unary && of.op == Operator::dereference);
  const Type type = this->expression(of);
  if (type == Type::none) return Type::none;
  const bool is_lvalue = may_be_lvalue && of.extent == 0 && of.symbol != nullptr &&
                         (of.kind == ExpressionKind::name || of.kind == ExpressionKind::index);
  const bool is_result = is_lvalue && !of.setup.empty() && of.symbol->pointer == nullptr;
  if (!is_lvalue || is_result || of.symbol->kind == Symbol::Kind::constant) {
    const bool is_constant_name = is_lvalue && of.symbol->kind == Symbol::Kind::constant;
    return fail(expression.position, "only variables and elements of arrays have an address",
                is_constant_name ? "'" + of.symbol->name + "' is a constant; remove 'const'" : "");
  }
  if (of.symbol->collection != nullptr)
    return fail(expression.position, "an element of '" + of.symbol->collection->name + "' has no address",
                "only variables and arrays have addresses");
  if (type == Type::pointer)
    return fail(expression.position, "pointers to pointers are not supported", "use an index instead");
  expression.pointee = type;
  expression.structure = type == Type::structure ? of.symbol->structure : std::string();
  expression.to_const = false;
  for_each_part(*of.symbol, [&](Symbol& part) {
    ++part.assignments;  // possibly, through the pointer
    part.is_set = true;
    expression.to_const |= part.is_const;
  });
  return Type::pointer;
}

ExpressionPtr Analyser::dereferenced(ExpressionPtr pointer) {
  Symbol* variable = hidden_pointer(*pointer);
  ExpressionPtr result = make_expression(ExpressionKind::index, pointer->position, variable->pointee);
  result->symbol = variable->target;
  result->operands.push_back(make_integer(0, Type::i64));
  const Position position = pointer->position;
  result->setup.push_back(assign_leaf(variable, {}, std::move(pointer), position));
  return result;
}

bool Analyser::pointer_value(Expression& expression, const FullType& wanted) {
  const Type type = operand(expression);
  if (type == Type::none) return false;
  if (is_null_constant(expression)) {
    make_null(expression, wanted);
    return true;
  }
  if (type != Type::pointer)
    return fail(expression.position, "expected a pointer here, not a value of type " + name_of(type),
                "write '&' before a variable or an element of an array");
  const FullType given = expression;
  if (!same_pointee(given, wanted))
    return fail(expression.position,
                "cannot convert '" + describe(given) + "' to '" + describe(wanted) + "'");
  if (given.to_const && !wanted.to_const)
    return fail(expression.position, "this conversion discards 'const'",
                "declare the pointer as '" + describe(given) + "'");
  return true;
}

void Analyser::initial_value(Expression& expression, const FullType& wanted) {
  if (wanted.type == Type::pointer) {
    static_cast<void>(pointer_value(expression, wanted));
  } else {
    convertible(expression, value(expression), wanted.type);
  }
}

// ---------------------------------------------------------------- operators

Type Analyser::assign_pointer(Expression& expression) {
  Expression& target = *expression.operands[0];
  Expression& assigned = *expression.operands[1];
  const FullType type = target;
  if (!check_target(target)) return Type::none;
  expression.take_type(target);
  if (expression.op == Operator::none) return pointer_value(assigned, type) ? Type::pointer : Type::none;
  const Type moved = value(assigned);
  if (expression.op != Operator::add && expression.op != Operator::subtract)
    return fail(expression.position, "this operator does not apply to a pointer", "use '=', '+=' and '-='");
  return require_integer(assigned, moved, "moving a pointer") ? Type::pointer : Type::none;
}

/// Precondition: both sides are analysed, and one is a pointer.
Type Analyser::pointer_binary(Expression& expression) {
  ExpressionPtr& left = expression.operands[0];
  ExpressionPtr& right = expression.operands[1];
  const bool compares = is_comparison(expression.op);
  const bool is_difference = expression.op == Operator::subtract && left->type == right->type;
  if (compares || is_difference) {
    if (compares && is_null_constant(*left)) make_null(*left, *right);
    if (compares && is_null_constant(*right)) make_null(*right, *left);
    const bool fits = left->type == Type::pointer && right->type == Type::pointer &&
                      same_pointee(*left, *right) && left->pointee != Type::none;
    if (fits) return compares ? Type::i32 : Type::i64;
    return fail(expression.position, "these operands cannot be compared",
                "both must be pointers to the same type");
  }
  if (expression.op == Operator::add && right->type == Type::pointer) std::swap(left, right);
  const bool moves = expression.op == Operator::add || expression.op == Operator::subtract;
  if (!moves || left->type != Type::pointer || right->type == Type::pointer || left->pointee == Type::none)
    return fail(expression.position, "a pointer cannot be used as a number",
                "write '*' before it to access its target; the difference of two pointers is a number");
  if (!require_integer(*right, right->type, "moving a pointer")) return Type::none;
  expression.take_type(*left);
  return Type::pointer;
}

Type Analyser::pointer_conditional(Expression& expression) {
  Expression& left = *expression.operands[1];
  Expression& right = *expression.operands[2];
  if (left.type == Type::none || right.type == Type::none) return Type::none;
  if (is_null_constant(left)) make_null(left, right);
  if (is_null_constant(right)) make_null(right, left);
  const bool fits = left.type == Type::pointer && right.type == Type::pointer && same_pointee(left, right) &&
                    left.pointee != Type::none;
  if (!fits) return fail(expression.position, "both must be pointers to the same type");
  expression.take_type(left);
  expression.to_const = left.to_const || right.to_const;
  return Type::pointer;
}

Type Analyser::pointer_cast(Expression& expression) {
  const FullType wanted = expression;
  FullType constant = wanted;
  constant.to_const = true;  // a cast may add 'const', which the result then has
  if (!pointer_value(*expression.operands[0], constant)) return Type::none;
  if (expression.operands[0]->to_const && !wanted.to_const)
    return fail(expression.position, "a cast cannot remove 'const'", "cast to '" + describe(constant) + "'");
  return Type::pointer;
}

}  // namespace lynxpp::cod
