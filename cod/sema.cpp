#include "cod/sema.h"

#include <algorithm>
#include <limits>

#include "cod/analyser.h"
#include "cod/constant.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t maximum_nodes = 20000;
constexpr int maximum_depth = 50;
constexpr std::size_t maximum_errors = 50;

bool calls_election(const Expression& expression) {
  if (expression.api != nullptr && expression.api->api == Api::least_active_thread_in_warp) return true;
  return std::any_of(expression.operands.begin(), expression.operands.end(),
                     [](const ExpressionPtr& operand) { return calls_election(*operand); });
}

}  // namespace

void Analyser::error(const Position& position, std::string message, std::string hint) {
  if (errors.size() >= maximum_errors) return;
  errors.push_back({Severity::error, program_.locate(position), std::move(message), std::move(hint)});
}

std::string Analyser::suggestion(const std::string& name, std::vector<std::string> candidates) const {
  const std::string match = closest_match(name, candidates);
  return match.empty() ? std::string() : "did you mean '" + match + "'?";
}

Symbol* Analyser::new_symbol(Symbol::Kind kind, const std::string& name, Type type,
                             const Position& position) {
  auto symbol = std::make_unique<Symbol>();
  symbol->kind = kind;
  symbol->name = name;
  symbol->type = type;
  symbol->position = position;
  program_.symbols.push_back(std::move(symbol));
  return program_.symbols.back().get();
}

bool Analyser::add_to_scope(Symbol* symbol) {
  const auto [place, added] = scopes_.back().emplace(symbol->name, symbol);
  if (!added) {
    error(symbol->position, "'" + symbol->name + "' is declared twice",
          "the first declaration is in line " + std::to_string(place->second->position.line));
  } else if (find_extent(symbol->name)) {
    error(symbol->position, "'" + symbol->name + "' is the name of an extent", "choose another name");
  }
  return added;
}

Symbol* Analyser::find(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  }
  return nullptr;
}

std::vector<std::string> Analyser::visible_names() const {
  std::vector<std::string> names = extent_names();
  for (const Scope& scope : scopes_) {
    for (const auto& [name, symbol] : scope) names.push_back(name);
  }
  return names;
}

// ---------------------------------------------------------------- file scope

void Analyser::run() {
  scopes_.emplace_back();
  declare_globals();
  analyse_functions();
  analyse_bodies();
  if (program_.handlers.empty() && program_.reports.empty() && errors.empty()) {
    errors.push_back({Severity::error,
                      {program_.file, 0, 0, 1},
                      "the specification does nothing",
                      "write a handler, for example 'ON_BASIC_BLOCK_EXIT: { ... }'"});
  }
  make_words();
}

void Analyser::declare_globals() {
  for (Item& item : program_.tree.items) {
    if (item.kind == Item::Kind::global_array) declare_array(item);
    if (item.kind == Item::Kind::function) declare_function(item);
    if (item.kind == Item::Kind::statement && item.body->kind == StatementKind::declaration)
      declare_file_scope(*item.body);
  }
}

void Analyser::declare_array(const Item& item) {
  Symbol* symbol = new_symbol(Symbol::Kind::array, item.name, item.type, item.position);
  symbol->index = static_cast<std::uint32_t>(program_.arrays.size());
  add_to_scope(symbol);
  if (!is_arithmetic(item.type)) {
    error(item.position, "an array cannot have elements of type void",
          "write for example 'global unsigned long " + item.name + "[THREADS];'");
  }
  GlobalArray array{item.name, storage_of(item.type), {}};
  for (const ExpressionPtr& extent : item.extents) {
    Dimension dimension;
    if (extent->kind == ExpressionKind::name) {
      if (const auto named = find_extent(extent->text)) {
        array.dimensions.push_back({*named, 1, extent->text});
        used_extents_.insert(*named);
        continue;
      }
    }
    Uses unused;
    context_ = Context{};
    context_.uses = &unused;
    const std::size_t before = errors.size();
    const Type type = value(*extent);
    if (type == Type::none || errors.size() != before) continue;
    const auto constant = evaluate(*extent);
    if (!constant || !is_integer(type)) {
      error(extent->position, "the extent of a 'global' array is a named extent or a constant integer",
            "named extents are BASIC_BLOCKS, INSTRUCTIONS, BLOCKS, WARPS, THREADS, SMS and LANES");
      continue;
    }
    const bool is_negative = is_signed(type) && static_cast<std::int64_t>(constant->integer) < 0;
    if (constant->integer == 0 || is_negative) {
      error(extent->position, "an array needs at least one element");
      continue;
    }
    if (constant->integer > std::uint64_t{1} << 40) {
      error(extent->position, "this array is larger than any device's memory");
      continue;
    }
    array.dimensions.push_back({Extent::constant, constant->integer, std::to_string(constant->integer)});
  }
  program_.arrays.push_back(std::move(array));
}

void Analyser::declare_function(const Item& item) {
  Symbol* symbol = new_symbol(Symbol::Kind::function, item.name, item.type, item.position);
  program_.functions.push_back(std::make_unique<Function>());
  symbol->function = program_.functions.back().get();
  symbol->function->item = &item;
  if (find_api(item.name) != nullptr || find_refused(item.name) != nullptr) {
    error(item.position, "'" + item.name + "' is a function of the language", "choose another name");
  }
  add_to_scope(symbol);
}

void Analyser::declare_file_scope(Statement& statement) {
  if (statement.type == Type::nothing) return error(statement.position, "a variable cannot have type void");
  for (Declarator& declarator : statement.declarators) {
    const auto kind = statement.is_const ? Symbol::Kind::constant : Symbol::Kind::state;
    Symbol* symbol = new_symbol(kind, declarator.name, statement.type, declarator.position);
    declarator.symbol = symbol;
    symbol->is_const = statement.is_const;
    if (statement.is_const) {
      declare_constant(statement, declarator, *symbol);
    } else {
      symbol->index = static_cast<std::uint32_t>(program_.state.size());
      program_.state.push_back({declarator.name, storage_of(statement.type)});
      if (declarator.initializer) initialized_.push_back(&declarator);
    }
    add_to_scope(symbol);
  }
}

void Analyser::declare_constant(const Statement& statement, Declarator& declarator, Symbol& symbol) {
  if (!declarator.initializer) {
    return error(declarator.position, "the constant '" + declarator.name + "' has no value",
                 "write '= value'");
  }
  Uses uses;
  context_ = Context{};
  context_.uses = &uses;
  const std::size_t before = errors.size();
  if (value(*declarator.initializer) == Type::none || errors.size() != before) return;
  const auto constant = evaluate(*declarator.initializer);
  if (!constant) {
    return error(declarator.initializer->position,
                 "a 'const' at file scope needs a value known at compile time",
                 "leave out 'const' for a value of each thread");
  }
  const Constant converted = convert(*constant, statement.type);
  symbol.value = converted.integer;
  symbol.real = converted.real;
}

void Analyser::analyse_functions() {
  std::vector<Symbol*> helpers;  // a list of its own: bodies declare further symbols
  for (const auto& symbol : program_.symbols) {
    if (symbol->kind == Symbol::Kind::function) helpers.push_back(symbol.get());
  }
  for (const Symbol* symbol : helpers) {
    Function& function = *symbol->function;
    context_ = Context{};
    context_.helper = &function;
    context_.result = symbol->type;
    context_.uses = &function.uses;
    scopes_.emplace_back();
    for (const Parameter& parameter : function.item->parameters) {
      if (!is_arithmetic(parameter.type)) error(parameter.position, "a parameter cannot have type void");
      Symbol* local = new_symbol(Symbol::Kind::local, parameter.name, parameter.type, parameter.position);
      local->assignments = 1;  // differs from call to call
      function.parameters.push_back(local);
      add_to_scope(local);
    }
    for (const StatementPtr& child : function.item->body->children) statement(*child);
    scopes_.pop_back();
  }
  for (const auto& function : program_.functions) find_recursion(*function);
}

bool Analyser::find_recursion(Function& function) {
  if (function.visit == 2) return false;
  if (function.visit == 1) return true;
  function.visit = 1;
  function.expanded_nodes = function.uses.nodes;
  for (const Uses::Helper& call : function.uses.helpers) {
    Function& callee = *call.symbol->function;
    if (find_recursion(callee)) {
      error(call.position, "'" + call.symbol->name + "' calls itself",
            "helper functions are inlined; use a loop");
      break;
    }
    function.depth = std::max(function.depth, callee.depth + 1);
    function.expanded_nodes =
        std::min<std::uint64_t>(function.expanded_nodes + callee.expanded_nodes, maximum_nodes * 4);
  }
  function.visit = 2;
  if (function.depth == maximum_depth) {
    error(function.item->position, "helper functions call each other too deeply here",
          "at most " + std::to_string(maximum_depth) + " levels; they are inlined");
  }
  return false;
}

// ---------------------------------------------------------------- handlers

void Analyser::analyse_bodies() {
  analyse_initializers();
  bool follows_statement = false;
  for (Item& item : program_.tree.items) {
    if (item.kind == Item::Kind::handler) analyse_handler(item);
    const bool is_bare = item.kind == Item::Kind::statement &&
                         item.body->kind != StatementKind::declaration &&
                         item.body->kind != StatementKind::empty;
    if (is_bare) {
      HandlerBody& body = follows_statement ? program_.handlers.back() : entry_handler(item.position);
      analyse_body(body, 1u << static_cast<int>(TargetKind::kernel_entry), "ON_KERNEL_ENTRY", *item.body);
    }
    follows_statement = is_bare;
  }
  for (HandlerBody& body : program_.handlers) {
    const auto target = static_cast<int>(body.handler.target);
    finish_handler(body, 1u << target, std::string(label_of(body.handler.target)));
  }
  for (HandlerBody& body : program_.reports) finish_handler(body, cod::on_host, "ON_REPORT");
}

HandlerBody& Analyser::entry_handler(const Position& position) {
  HandlerBody& body = program_.handlers.emplace_back();
  body.handler.target = TargetKind::kernel_entry;
  body.handler.location = program_.locate(position);
  return body;
}

/// Each initialiser becomes an assignment in one handler that runs before all others.
void Analyser::analyse_initializers() {
  if (initialized_.empty()) return;
  HandlerBody& body = entry_handler(initialized_.front()->position);
  body.handler.is_initializer = true;
  for (Declarator* declarator : initialized_) {
    auto assignment = std::make_unique<Statement>();
    assignment->kind = StatementKind::expression;
    assignment->position = declarator->position;
    assignment->expression = std::make_unique<Expression>();
    Expression& expression = *assignment->expression;
    expression.kind = ExpressionKind::assign;
    expression.position = declarator->position;
    auto target = std::make_unique<Expression>();
    target->kind = ExpressionKind::name;
    target->position = declarator->position;
    target->text = declarator->name;
    expression.operands.push_back(std::move(target));
    expression.operands.push_back(std::move(declarator->initializer));
    analyse_body(body, 1u << static_cast<int>(TargetKind::kernel_entry), "ON_KERNEL_ENTRY", *assignment);
    program_.synthesized.push_back(std::move(assignment));
  }
}

void Analyser::analyse_handler(Item& item) {
  bool is_report = false;
  HandlerBody body;
  body.handler.location = program_.locate(item.position);
  if (!resolve_labels(item, body, is_report)) return;  // what the code may use is unknown
  if (is_report) {
    program_.reports.push_back(std::move(body));
    return analyse_body(program_.reports.back(), cod::on_host, "ON_REPORT", *item.body);
  }
  program_.handlers.push_back(std::move(body));
  HandlerBody& kept = program_.handlers.back();
  analyse_body(kept, 1u << static_cast<int>(kept.handler.target), std::string(label_of(kept.handler.target)),
               *item.body);
}

bool Analyser::resolve_labels(const Item& item, HandlerBody& body, bool& is_report) {
  bool has_target = false;
  bool is_known = true;
  for (const Label& label : item.labels) {
    const auto target = find_target(label.name);
    if (target || label.name == "ON_REPORT") {
      if (has_target) {
        error(label.position, "a handler has one target", "write a handler of its own for " + label.name);
        continue;
      }
      has_target = true;
      is_report = label.name == "ON_REPORT";
      if (target) body.handler.target = *target;
    } else if (!add_filter(label.name, body.handler.filter)) {
      error(label.position, "unknown label '" + label.name + "'", suggestion(label.name, label_names()));
      is_known = is_known && has_target;
    } else if (is_known && (!has_target || body.handler.target != TargetKind::instruction)) {
      error(label.position, "the filter " + label.name + " needs the target ON_INSTRUCTION",
            "write 'ON_INSTRUCTION: " + label.name + ": { ... }'");
    }
  }
  return is_known;
}

void Analyser::analyse_body(HandlerBody& body, std::uint32_t places, const std::string& label,
                            Statement& code) {
  context_ = Context{};
  context_.places = places;
  context_.label = label;
  context_.uses = &body.uses;
  scopes_.emplace_back();
  statement(code);
  scopes_.pop_back();
  body.statements.push_back(&code);
}

/// Follows the helpers that the handler calls, and fills in what the contract says about it.
void Analyser::finish_handler(HandlerBody& body, std::uint32_t places, const std::string& label) {
  std::set<ReachedFunction> seen;
  std::uint64_t nodes = body.uses.nodes;
  for (const Uses::Helper& call : body.uses.helpers) {
    nodes = std::min<std::uint64_t>(nodes + call.symbol->function->expanded_nodes, maximum_nodes * 4);
    check_reachable(*call.symbol->function, call, places, label, seen, body);
  }
  for (const Uses::Call& use : body.uses.calls) add_use(*use.api, body);
  body.handler.uses_state = body.handler.uses_state || !body.uses.states.empty();
  std::sort(body.handler.site_values.begin(), body.handler.site_values.end());
  if (nodes > maximum_nodes) {
    Diagnostic diagnostic{Severity::error, body.handler.location,
                          "this handler is too large once its helpers are inlined",
                          "at most " + std::to_string(maximum_nodes) + " operations; use loops"};
    errors.push_back(std::move(diagnostic));
  }
}

/// One word per array, then one per named extent in use, then the counter of dropped accesses. The same for
/// every lowering.
void Analyser::make_words() {
  for (std::uint32_t i = 0; i < program_.arrays.size(); ++i) {
    program_.words.push_back({Word::Kind::array_address, i, Extent::constant});
  }
  for (const Extent extent : used_extents_) {
    const bool is_fixed = extent == Extent::lanes || extent == Extent::constant;
    if (!is_fixed) program_.words.push_back({Word::Kind::extent, 0, extent});
  }
  if (!program_.arrays.empty()) program_.words.push_back({Word::Kind::dropped, 0, Extent::constant});
}

// ---------------------------------------------------------------- statements

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
    case StatementKind::continue_loop:
      if (context_.loops == 0) {
        const bool is_break = statement.kind == StatementKind::break_loop;
        error(statement.position, std::string(is_break ? "'break'" : "'continue'") + " stands outside a loop",
              is_break ? "'return;' leaves a handler" : "");
      }
      return;
    case StatementKind::return_value: return return_statement(statement);
  }
}

void Analyser::warn_of_unused_value(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::assign:
    case ExpressionKind::postfix:
    case ExpressionKind::call:
    case ExpressionKind::conditional: return;
    case ExpressionKind::unary:
      if (expression.op == Operator::increment || expression.op == Operator::decrement) return;
      break;
    case ExpressionKind::binary:
      if (expression.op == Operator::logical_and || expression.op == Operator::logical_or) return;
      break;
    case ExpressionKind::cast:
      if (expression.type == Type::nothing) return;
      break;
    default: break;
  }
  warnings_.push_back({Severity::warning, program_.locate(expression.position), "nobody uses this value",
                       "assign it, or leave it out"});
}

void Analyser::declaration(Statement& statement) {
  if (statement.type == Type::nothing) return error(statement.position, "a variable cannot have type void");
  for (Declarator& declarator : statement.declarators) {
    ++context_.uses->nodes;
    if (declarator.initializer) {
      convertible(*declarator.initializer, value(*declarator.initializer), statement.type);
    } else if (statement.is_const) {
      error(declarator.position, "the constant '" + declarator.name + "' has no value", "write '= value'");
    }
    declarator.symbol = new_symbol(Symbol::Kind::local, declarator.name, statement.type, declarator.position);
    declarator.symbol->is_const = statement.is_const;
    declarator.symbol->initializer = declarator.initializer.get();
    add_to_scope(declarator.symbol);
  }
}

void Analyser::condition(Expression& expression) { static_cast<void>(value(expression)); }

void Analyser::if_statement(Statement& statement) {
  condition(*statement.condition);
  const int election = calls_election(*statement.condition) ? 1 : 0;
  ++context_.conditions;
  context_.elections += election;
  for (const StatementPtr& child : statement.children) {
    scopes_.emplace_back();
    this->statement(*child);
    scopes_.pop_back();
  }
  context_.elections -= election;
  --context_.conditions;
}

void Analyser::loop_statement(Statement& statement) {
  scopes_.emplace_back();
  ++context_.loops;
  ++context_.conditions;
  if (statement.children.size() > 1) this->statement(*statement.children[1]);
  if (statement.condition) condition(*statement.condition);
  const int election = statement.condition && calls_election(*statement.condition) ? 1 : 0;
  context_.elections += election;
  if (statement.expression) static_cast<void>(expression(*statement.expression));
  scopes_.emplace_back();
  this->statement(*statement.children[0]);
  scopes_.pop_back();
  context_.elections -= election;
  --context_.conditions;
  --context_.loops;
  scopes_.pop_back();
}

void Analyser::return_statement(Statement& statement) {
  if (context_.helper == nullptr) {
    if (statement.expression) {
      error(statement.expression->position, "a handler returns no value", "write 'return;'");
    }
    return;
  }
  if (!statement.expression) {
    if (context_.result != Type::nothing) {
      error(statement.position, "this function returns a value of type " + name_of(context_.result),
            "write 'return value;'");
    }
    return;
  }
  if (context_.result == Type::nothing) {
    return error(statement.expression->position, "this function returns no value", "write 'return;'");
  }
  convertible(*statement.expression, value(*statement.expression), context_.result);
}

Result<std::shared_ptr<const Program>> analyse(SyntaxTree tree, const std::string& file,
                                               Diagnostics& warnings) {
  auto program = std::make_shared<Program>();
  program->file = file;
  program->tree = std::move(tree);
  Analyser analyser(*program, warnings);
  analyser.run();
  if (!analyser.errors.empty()) {
    std::stable_sort(analyser.errors.begin(), analyser.errors.end(),
                     [](const Diagnostic& a, const Diagnostic& b) {
                       return std::pair(a.location.line, a.location.column) <
                              std::pair(b.location.line, b.location.column);
                     });
    return Failure{std::move(analyser.errors)};
  }
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace lynxpp::cod
