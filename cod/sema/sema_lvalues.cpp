// Lvalues: variables, their elements and fields, and targets of pointers.
#include "cod/sema/analyser.h"

namespace lynxpp::cod {
namespace {

/// The number of expressions in brackets, each an operand. A structure as a map's key has one operand per
/// field.
std::size_t index_count(const Symbol& symbol) {
  return symbol.dimensions.size() + (symbol.is_in_map() ? symbol.collection->key.size() - 1 : 0);
}

}  // namespace

/// a[i].b[j] ▶ the symbol of the field, and the indices in order. With `column`, the indices of an array of
/// structures may be omitted.
Symbol* Analyser::resolve(Expression& expression, Lvalue& lvalue, bool column) {
  const bool is_dereference =
      expression.kind == ExpressionKind::unary && expression.op == Operator::dereference;
  const bool is_lvalue =
      expression.kind == ExpressionKind::index || expression.kind == ExpressionKind::member || is_dereference;
  if (expression.kind == ExpressionKind::index && expression.symbol != nullptr) {
    // Already analysed: the extent of a field is shared by all variables of the structure.
    lvalue.indices = std::move(expression.operands);
    lvalue.setup = std::move(expression.setup);
    return expression.symbol;
  }
  if (is_lvalue && expression.operands.empty()) return nullptr;  // an error has already been reported
  if (expression.kind == ExpressionKind::index || is_dereference) {
    Symbol* symbol = resolve(*expression.operands[0], lvalue, column);
    // The target of a pointer; arrays decay to pointers to their first element.
    if (symbol != nullptr && symbol->target != nullptr && lvalue.indices.empty()) symbol = symbol->target;
    if (is_dereference) {
      lvalue.indices.push_back(make_integer(0));
      return symbol;
    }
    if (symbol != nullptr && symbol->is_in_map() &&
        lvalue.indices.size() == symbol->collection->leading.size()) {
      push_key(*expression.operands[1], *symbol->collection, lvalue.indices);
      return symbol;
    }
    require_integer(*expression.operands[1], value(*expression.operands[1]), "an index");
    lvalue.indices.push_back(std::move(expression.operands[1]));
    return symbol;
  }
  if (expression.kind == ExpressionKind::member) return resolve_member(expression, lvalue, column);
  if (expression.kind == ExpressionKind::name) {
    Symbol* symbol = find(expression.text);
    if (symbol == nullptr)
      error(expression.position, "unknown name '" + expression.text + "'",
            suggestion(expression.text, visible_names()));
    return symbol;
  }
  return resolve_value(expression, lvalue);
}

Symbol* Analyser::resolve_member(Expression& expression, Lvalue& lvalue, bool column) {
  Symbol* symbol = resolve(*expression.operands[0], lvalue, column);
  if (symbol == nullptr) return nullptr;
  if (symbol->target != nullptr)
    return fail(expression.position, "'" + symbol->name + "' is a pointer",
                "write '" + symbol->name + "->" + expression.text + "'");
  if (symbol->kind != Symbol::Kind::record)
    return fail(expression.position, "'" + symbol->name + "' has no fields");
  if (!column && lvalue.indices.size() != index_count(*symbol))
    return fail(expression.position, "'" + symbol->name + "' is an array", "add an index before the field");
  std::vector<std::string> names;
  for (const auto& [name, field] : symbol->fields) {
    if (name == expression.text) return field;
    names.push_back(name);
  }
  return fail(expression.position, "'" + symbol->name + "' has no field '" + expression.text + "'",
              suggestion(expression.text, names));
}

/// A computed pointer, stored in a hidden variable, or a structure that a function returned.
Symbol* Analyser::resolve_value(Expression& expression, Lvalue& lvalue) {
  const Type type = this->expression(expression);
  if (type == Type::pointer && expression.pointee != Type::none) {
    Symbol* pointer = hidden_pointer(expression);
    const Position position = expression.position;
    lvalue.setup.push_back(
        assign_leaf(pointer, {}, std::make_unique<Expression>(std::move(expression)), position));
    return pointer;
  }
  if (type == Type::structure && expression.kind == ExpressionKind::index) {
    lvalue.indices = std::move(expression.operands);
    lvalue.setup = std::move(expression.setup);
    return expression.symbol;
  }
  if (type != Type::none) {
    error(expression.position, "only arrays and pointers have elements, and only structures have fields",
          "declare 'global unsigned long name[THREADS];' at file scope");
  }
  return nullptr;
}

Type Analyser::lvalue(Expression& expression) {
  Lvalue lvalue;
  const bool is_element = expression.kind != ExpressionKind::member;
  Symbol* symbol = resolve(expression, lvalue, false);
  if (symbol == nullptr) {
    expression.operands.clear();  // the remaining operands were moved from
    return Type::none;
  }
  const bool has_elements = symbol->kind == Symbol::Kind::array || symbol->kind == Symbol::Kind::record;
  expression.op = Operator::none;
  expression.operands = std::move(lvalue.indices);
  expression.setup = std::move(lvalue.setup);
  if (!has_elements && is_element)
    return fail(expression.position,
                "only arrays and pointers have elements, and '" + symbol->name + "' is neither",
                "declare 'global unsigned long name[THREADS];' at file scope");
  if (has_elements && expression.operands.size() != index_count(*symbol))
    return fail(expression.position, "wrong number of indices for '" + symbol->name + "': expected " +
                                         std::to_string(symbol->dimensions.size()) + ", have " +
                                         std::to_string(expression.operands.size()));
  expression.kind = has_elements ? ExpressionKind::index : ExpressionKind::name;
  const Type type = use(expression, symbol);
  if (has_elements && type != Type::none) warn_of_indices(expression);
  return type;
}

}  // namespace lynxpp::cod
