// Types of expressions.
#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

/// Returns null if it is not a call of entryKey() or entryValue().
const ApiFunction* entry_function(const Expression& expression) {
  const ApiFunction* api = expression.kind == ExpressionKind::call ? find_api(expression.text) : nullptr;
  return api != nullptr && api->arguments == ApiArguments::entry ? api : nullptr;
}

}  // namespace

Type Analyser::value(Expression& expression) { return number(expression, this->expression(expression)); }

Type Analyser::number(const Expression& expression, Type type) {
  if (!has_value(expression, type)) return Type::none;
  if (type == Type::pointer)
    return fail(expression.position, "a pointer cannot be used as a number",
                "write '*' before it to access its target; the difference of two pointers is a number");
  return type;
}

std::optional<Constant> Analyser::constant_integer(Expression& expression, const std::string& problem,
                                                   const std::string& hint) {
  const std::size_t before = errors.size();
  const Type type = value(expression);
  if (type == Type::none || errors.size() != before) return std::nullopt;
  const auto constant = evaluate(expression);
  if (constant && is_integer(type)) return constant;
  return fail(expression.position, problem, hint);
}

bool Analyser::has_value(const Expression& expression, Type type) {
  if (expression.kind == ExpressionKind::string || type == Type::text) {
    error(expression.position, "a string is not allowed here", "only emit() and print() take strings");
  } else if (type == Type::nothing) {
    error(expression.position, "this expression has no value");
  } else if (type == Type::structure) {
    error(expression.position, "a structure cannot be used as a number", "append '.field' to access a field");
  } else {
    return type != Type::none;
  }
  return false;
}

Type Analyser::expression(Expression& expression) {
  ++context_.uses->nodes;
  switch (expression.kind) {
    case ExpressionKind::integer:
    case ExpressionKind::floating: return expression.type;
    case ExpressionKind::size: return expression.type = size(expression);
    case ExpressionKind::comma:
      for (std::size_t i = 0; i + 1 < expression.operands.size(); ++i) {
        expression.operands[i]->discarded = true;
        if (this->expression(*expression.operands[i]) != Type::none)
          warn_of_unused_value(*expression.operands[i]);
      }
      expression.operands.back()->discarded = expression.discarded;
      return expression.type = comma_value(expression);
    case ExpressionKind::string: return expression.type = Type::nothing;
    case ExpressionKind::null: return expression.type;
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
      if (expression.type == Type::pointer) return pointer_cast(expression);
      static_cast<void>(value(*expression.operands[0]));
      return expression.type;
    case ExpressionKind::call: return expression.type = call(expression);
    case ExpressionKind::member:
      if (const ApiFunction* api =
              expression.operands.empty() ? nullptr : entry_function(*expression.operands[0])) {
        // entryKey(map, i).field
        const std::string field = expression.text;
        const ExpressionPtr entry = std::move(expression.operands[0]);
        expression.kind = ExpressionKind::call;
        expression.text = entry->text;
        expression.operands = std::move(entry->operands);
        return expression.type = entry_call(expression, *api, &field);
      }
      return expression.type = lvalue(expression);
    case ExpressionKind::index: return expression.type = lvalue(expression);
  }
  return Type::none;
}

Type Analyser::comma_value(Expression& expression) {
  Expression& last = *expression.operands.back();
  const Type type = this->expression(last);
  expression.take_type(last);
  if (type != Type::structure) return type;
  return fail(expression.position, "a structure cannot be used as a number",
              "append '.field' to access a field");
}

Type Analyser::name(Expression& expression) {
  Symbol* symbol = find(expression.text);
  if (symbol == nullptr) {
    if (const auto extent = find_extent(expression.text)) {
      expression.extent = 1 + static_cast<std::uint32_t>(*extent);
      if (!use_launch_data(expression.text, expression.position)) return Type::none;
      if (!context_.on_host()) used_extents_.insert(*extent);
      return Type::u64;
    }
    if (const auto limit = find_limit(expression.text)) {
      expression.kind = ExpressionKind::integer;
      expression.value = *limit;
      return Type::u64;
    }
    if (expression.text == "NULL") {
      expression.kind = ExpressionKind::null;
      return Type::pointer;
    }
    if (const auto space = find_space(expression.text)) {
      expression.kind = ExpressionKind::integer;
      expression.value = *space;
      return Type::u32;
    }
    if (find_api(expression.text) != nullptr) {
      error(expression.position, "'" + expression.text + "' is a function",
            "call it: '" + expression.text + "()'");
    } else {
      error(expression.position, "unknown name '" + expression.text + "'",
            suggestion(expression.text, visible_names()));
    }
    return Type::none;
  }
  const bool is_array = symbol->kind == Symbol::Kind::array || symbol->kind == Symbol::Kind::record;
  if (is_array && !symbol->dimensions.empty()) {
    expression.symbol = symbol;
    return fail(expression.position, "'" + symbol->name + "' is an array",
                "add an index: '" + symbol->name + "[...]'");
  }
  return use(expression, symbol);
}

/// `expression` names all of `symbol`; its kind and indices are valid.
Type Analyser::use(Expression& expression, Symbol* symbol) {
  expression.symbol = symbol;
  const auto gone = [&](const std::string& owner) {
    return fail(
        expression.position,
        "'" + symbol->name + "' belongs to the " + owner + " of the kernel and is not available in ON_REPORT",
        "in ON_KERNEL_EXIT, add it to a 'global' array");
  };
  switch (symbol->kind) {
    case Symbol::Kind::function:
      error(expression.position, "'" + symbol->name + "' is a function",
            "call it: '" + symbol->name + "(...)'");
      return Type::none;
    case Symbol::Kind::array:
      if (!check_collection_use(expression, *symbol)) return Type::none;
      if (symbol->memory == Symbol::Memory::thread) {
        if (context_.on_host()) return gone("threads");
        context_.uses->states.emplace_back(symbol, expression.position);
      }
      if (symbol->memory == Symbol::Memory::host && !use_host_variable(symbol, expression.position))
        return Type::none;
      if (symbol->memory == Symbol::Memory::global && !use_launch_data(symbol->name, expression.position))
        return Type::none;
      if (symbol->memory == Symbol::Memory::shared) {
        if (context_.on_host()) return gone("thread blocks");
        context_.uses->shared_arrays.emplace_back(symbol, expression.position);
        ++symbol->reads;
      }
      note_access(expression, *symbol);
      expression.kind = ExpressionKind::index;  // `global T name;` is an array without dimensions
      return symbol->type;
    case Symbol::Kind::record:
      expression.kind = ExpressionKind::index;
      expression.structure = symbol->structure;
      return Type::structure;
    case Symbol::Kind::state:
      if (context_.on_host()) return gone("threads");
      context_.uses->states.emplace_back(symbol, expression.position);
      return symbol->type;
    case Symbol::Kind::local:
    case Symbol::Kind::constant: break;
  }
  if (symbol->type == Type::pointer) expression.take_type(*symbol);
  return symbol->type;
}

/// Registers an access by device code; a map counts its dropped updates itself.
void Analyser::note_access(const Expression& expression, const Symbol& array) {
  constexpr std::size_t most = 255;
  const bool is_kept = program_.accesses.size() < most && program_.count_of_drops(expression.position) == 0;
  if (is_kept && !array.is_in_map() && !context_.on_host() && !array.dimensions.empty())
    program_.accesses.emplace_back(expression.position, array.name);
}

/// Arrays and extents of a launch are available only in its report.
bool Analyser::use_launch_data(const std::string& name, const Position& position) {
  context_.uses->launch_data.emplace_back(name, position);
  if (!context_.at_end()) return true;
  return fail(position, "'" + name + "' belongs to a launch and is not available in ON_END",
              "add it to a 'host' variable in ON_REPORT");
}

bool Analyser::use_host_variable(Symbol* symbol, const Position& position) {
  context_.uses->host_variables.emplace_back(symbol, position);
  if (context_.on_host() || context_.helper != nullptr) return true;
  return fail(position, "'" + symbol->name + "' is a 'host' variable", "use it only in ON_REPORT and ON_END");
}

bool Analyser::require_integer(const Expression& expression, Type type, const std::string& what) {
  if (type == Type::none) return false;
  if (is_integer(type)) return true;
  return fail(expression.position, what + " requires an integer value, but this has type " + name_of(type),
              "cast it, for example to (long)");
}

void Analyser::convertible(const Expression& expression, Type from, Type to) {
  // All arithmetic types convert to each other; value() has already reported other types.
  if (from != Type::none && is_arithmetic(from) && !is_arithmetic(to))
    error(expression.position, "this cannot be converted to 'void'");
}

Type Analyser::unary(Expression& expression) {
  Expression& operand = *expression.operands[0];
  if (expression.op == Operator::increment || expression.op == Operator::decrement) return step(expression);
  if (expression.op == Operator::address_of) return address(expression);
  if (expression.op == Operator::dereference) return lvalue(expression);
  if (expression.op == Operator::logical_not)
    return this->operand(operand) == Type::none ? Type::none : Type::i32;
  const Type type = value(operand);
  if (type == Type::none) return type;
  if (expression.op == Operator::complement && !require_integer(operand, type, "'~'")) return Type::none;
  return promote(type);
}

/// Prefix and postfix ++ and --: become `target += 1` and `target -= 1`.
Type Analyser::step(Expression& expression) {
  Expression& target = *expression.operands[0];
  const Type type = this->expression(target);
  if (!has_value(target, type) || !check_target(target)) return Type::none;
  note_update(target);
  note_change(target, Symbol::added);
  if (type == Type::pointer) expression.take_type(target);
  if (type == Type::boolean)
    return fail(expression.position, "a bool cannot be incremented or decremented", "assign true or false");
  expression.yields_old = expression.kind == ExpressionKind::postfix;
  expression.kind = ExpressionKind::assign;
  expression.op = expression.op == Operator::increment ? Operator::add : Operator::subtract;
  expression.operands.push_back(make_integer(1, Type::i32, expression.position));
  return type;
}

/// `a[i] op= x`: lanes may combine their values first, which requires convergence.
void Analyser::note_update(Expression& target) {
  target.elected = context_.elections > 0;
  context_.uses->updates_memory = context_.uses->updates_memory || target.kind == ExpressionKind::index;
}

/// How the kernel modifies an element determines how results of several launches are combined.
void Analyser::note_change(const Expression& target, std::uint8_t change) {
  if (target.symbol != nullptr) target.symbol->changes |= change;
}

bool Analyser::check_target(Expression& target) {
  const Symbol* symbol = target.symbol;
  const bool is_element = target.kind == ExpressionKind::index;
  if (!is_element && (target.kind != ExpressionKind::name || symbol == nullptr))
    return fail(target.position,
                target.extent != 0 ? "an extent is not assignable" : "this expression is not assignable",
                "assign to a variable or to an element of an array");
  if (symbol->is_const) {
    const bool is_pointed_to = symbol->pointer != nullptr;
    return fail(target.position,
                is_pointed_to
                    ? "cannot assign through '" + symbol->pointer->name + "', which is a pointer to const"
                    : "cannot assign to '" + symbol->name + "', which is const",
                is_pointed_to ? "" : "remove 'const' from its declaration");
  }
  if (!target.setup.empty() && symbol->pointer == nullptr)
    return fail(target.position, "the result of a function is not assignable",
                "store it in a variable first");
  if (context_.on_host() && symbol->collection != nullptr)
    return fail(target.position,
                "the entries of '" + symbol->collection->name + "' are read-only in a report",
                "copy them to local variables");
  if (target.symbol->kind == Symbol::Kind::local) ++target.symbol->assignments;
  return true;
}

Type Analyser::binary(Expression& expression) {
  const bool is_logical = expression.op == Operator::logical_and || expression.op == Operator::logical_or;
  const Type left = operand(*expression.operands[0]);
  const int election =
      is_logical && elects(*expression.operands[0], expression.op == Operator::logical_and) ? 1 : 0;
  if (is_logical) ++context_.conditions;
  context_.elections += election;
  const Type right = operand(*expression.operands[1]);
  context_.elections -= election;
  if (is_logical) {
    --context_.conditions;
    return Type::i32;
  }
  if (left == Type::none || right == Type::none) return Type::none;
  if (left == Type::pointer || right == Type::pointer) return pointer_binary(expression);
  if (expression.op == Operator::divide || expression.op == Operator::remainder)
    warn_of_zero_divisor(*expression.operands[1], common_type(left, right));
  if (is_comparison(expression.op)) return Type::i32;
  if (takes_integers(expression.op) && (!require_integer(*expression.operands[0], left, "this operator") ||
                                        !require_integer(*expression.operands[1], right, "this operator")))
    return Type::none;
  return is_shift(expression.op) ? promote(left) : common_type(left, right);
}

Type Analyser::conditional(Expression& expression) {
  condition(*expression.operands[0]);
  ++context_.conditions;
  const auto choice = [&](std::size_t index) {
    const int election = elects(*expression.operands[0], index == 1) ? 1 : 0;
    context_.elections += election;
    const Type type = operand(*expression.operands[index]);
    context_.elections -= election;
    return type;
  };
  const Type left = choice(1);
  const Type right = choice(2);
  --context_.conditions;
  if (left == Type::pointer || right == Type::pointer) return pointer_conditional(expression);
  return left == Type::none || right == Type::none ? Type::none : common_type(left, right);
}

Type Analyser::assignment(Expression& expression) {
  Expression& target = *expression.operands[0];
  expression.conditional = context_.conditions > 0 || context_.helper != nullptr;
  const Type type = this->expression(target);
  if (type == Type::structure) return assign_record(expression);
  if (type == Type::pointer) return assign_pointer(expression);
  const Type assigned = value(*expression.operands[1]);
  const bool is_shared = type != Type::none && target.symbol != nullptr &&
                         target.symbol->kind == Symbol::Kind::array &&
                         target.symbol->memory == Symbol::Memory::shared;
  if (is_shared && expression.op == Operator::none) {
    target.symbol->is_set = true;
    --target.symbol->reads;
    if (context_.conditions == 0) context_.counted.insert(target.symbol);
  }
  if (type == Type::nothing || type == Type::none || !check_target(target) || assigned == Type::none)
    return Type::none;
  if (expression.op != Operator::none) note_update(target);
  if (expression.op == Operator::divide || expression.op == Operator::remainder)
    warn_of_zero_divisor(*expression.operands[1], common_type(type, assigned));
  const bool adds = expression.op == Operator::add || expression.op == Operator::subtract;
  note_change(target, adds ? Symbol::added : Symbol::changed_otherwise);
  if (takes_integers(expression.op) && (!require_integer(target, type, "this operator") ||
                                        !require_integer(*expression.operands[1], assigned, "this operator")))
    return Type::none;
  return type;
}

/// The size of a type, of an array or of an expression's type; the expression is not evaluated.
Type Analyser::size(Expression& expression) {
  std::uint64_t bytes = expression.value;
  if (!expression.operands.empty()) {
    const ExpressionPtr operand = std::move(expression.operands[0]);
    expression.operands.clear();
    Uses unused;
    Uses* outer = context_.uses;
    context_.uses = &unused;
    Symbol* named = operand->kind == ExpressionKind::name ? find(operand->text) : nullptr;
    const bool is_array = named != nullptr && !named->dimensions.empty() &&
                          (named->kind == Symbol::Kind::array || named->kind == Symbol::Kind::record);
    const Type type = is_array ? named->type : this->expression(*operand);
    context_.uses = outer;
    if (type == Type::none) return Type::none;
    if (type == Type::pointer)
      return fail(expression.position, "'sizeof' cannot be applied to a pointer",
                  "pointers are not stored in memory");
    bytes = bytes_of(type);
    const Symbol* record = is_array ? named : operand->symbol;
    if (type == Type::structure) expression.structure = record->structure;
    if (type == Type::structure || is_array) {
      const StructureInfo* info =
          type == Type::structure ? structure_info(record->structure, expression.position) : nullptr;
      bytes = info != nullptr ? info->bytes : bytes;
    }
    if (is_array) {
      for (const Dimension& dimension : named->dimensions) {
        bytes *= dimension.constant;
        if (dimension.extent == Extent::constant) continue;
        return fail(expression.position, "the size of '" + named->name + "' is known only at the launch");
      }
    }
    if (type == Type::nothing)
      return fail(expression.position, "'sizeof' cannot be applied to a void expression");
  } else if (!expression.structure.empty()) {
    const StructureInfo* info = structure_info(expression.structure, expression.position);
    if (info == nullptr) return Type::none;
    bytes = info->bytes;
  }
  expression.value = bytes;
  expression.structure.clear();
  return Type::u64;
}

}  // namespace lynxpp::cod
