#include "cod/sema/sema.h"

#include <algorithm>
#include <limits>

#include "cod/sema/added_results.h"
#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"
#include "cod/sema/counters.h"
#include "cod/sema/lane_dependence.h"
#include "cod/sema/word_counts.h"
#include "cod/word_map.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t maximum_nodes = 20000;
constexpr int maximum_depth = 50;
constexpr std::size_t maximum_errors = 50;

}  // namespace

void Analyser::error(const Position& position, std::string message, std::string hint) {
  if (errors.size() >= maximum_errors) return;
  errors.push_back({Severity::error, program_.locate(position), std::move(message), std::move(hint)});
}

Failed Analyser::fail(const Position& position, std::string message, std::string hint) {
  error(position, std::move(message), std::move(hint));
  return {};
}

std::string Analyser::suggestion(const std::string& name, const std::vector<std::string>& candidates) const {
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
    error(symbol->position, "'" + symbol->name + "' is already declared",
          "the previous declaration is on line " + std::to_string(place->second->position.line));
  } else if (find_extent(symbol->name) || find_limit(symbol->name)) {
    error(symbol->position, "'" + symbol->name + "' is a predefined extent", "choose another name");
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
  names.insert(names.end(), program_.tree.types.begin(), program_.tree.types.end());
  for (const std::string& filter : filter_names()) {
    if (find_space(filter)) names.push_back(filter);
  }
  return names;
}

// ---------------------------------------------------------------- file scope

void Analyser::run() {
  scopes_.emplace_back();
  declare_globals();
  declare_lynx_arrays();
  analyse_functions();
  analyse_bodies();
  check_folds();
  if (program_.handlers.empty() && program_.reports.empty() && program_.ends.empty() && errors.empty()) {
    errors.push_back({Severity::error,
                      {program_.file, 0, 0, 1},
                      "the specification does nothing",
                      "write a handler, for example 'ON_BASIC_BLOCK_EXIT: { ... }'"});
  }
  make_words();
  warn_of_unset_arrays();
  for (const auto& symbol : program_.symbols) {
    const bool is_shared = symbol->kind == Symbol::Kind::array && symbol->memory == Symbol::Memory::shared;
    if (is_shared && symbol->reads == 0) program_.variables[symbol->index].bytes = 0;
  }
}

void Analyser::declare_globals() {
  for (Item& item : program_.tree.items) {
    if (item.kind == Item::Kind::global_array) declare_array(item);
    if (item.kind == Item::Kind::shared_array) declare_shared_array(item);
    if (item.kind == Item::Kind::function) declare_function(item);
    if (item.kind == Item::Kind::statement && item.body->kind == StatementKind::declaration)
      item.is_host ? declare_host(*item.body) : declare_file_scope(*item.body);
  }
}

void Analyser::declare_array(Item& item) {
  const StorageClause& clause = item.storage;
  if (!clause.kind.empty()) return declare_collection(item);
  if (!clause.has_type) {
    return error(item.position, "'" + item.name + "' has no type",
                 "for example, write 'global unsigned long " + item.name + "[THREADS];'");
  }
  if (clause.has_key || !clause.binning.empty()) {
    error(clause.has_key ? item.position : clause.binning_position,
          clause.has_key ? "only a map has keys" : "only a histogram has bins",
          clause.has_key ? "write 'global map'" : "write 'global histogram'");
  }
  const std::vector<Dimension> dimensions =
      dimensions_of(Memory::global, item.name, item.position, item.extents, item.initial.list.size());
  const std::size_t before = errors.size();
  Symbol* symbol =
      declare_variable(Memory::global, {item.name, item.type, item.structure, dimensions, item.position});
  if (item.has_initial && errors.size() == before) set_initial_values(item, symbol);
}

void Analyser::declare_shared_array(const Item& item) {
  const StorageClause& clause = item.storage;
  if (!clause.kind.empty() || clause.has_key || !clause.binning.empty() || !clause.has_type) {
    return error(item.position, "only an array can be 'shared'",
                 "write 'global' before a trace, histogram or map");
  }
  if (item.has_initial)
    error(item.initial.position, "a 'shared' array cannot have an initialiser",
          "assign its elements in ON_KERNEL_ENTRY and call 'syncThreads();' there");
  const std::vector<Dimension> dimensions =
      dimensions_of(Memory::shared, item.name, item.position, item.extents, item.initial.list.size());
  declare_variable(Memory::shared, {item.name, item.type, item.structure, dimensions, item.position});
}

/// Declares Lynx's untyped arrays if their names are used without a declaration.
void Analyser::declare_lynx_arrays() {
  const auto is_named = [&](const std::string& name) {
    return scopes_.front().count(name) == 0 && program_.tree.names.contains(name);
  };
  if (is_named("globalMem")) {
    declare_variable(Memory::global, {"globalMem", Type::u64, {}, {{Extent::lynx, 1, "globalMem"}}, {}});
    used_extents_.insert(Extent::lynx);
  }
  // One element per thread plus one warp, because the paper uses blockDim() as an index.
  if (is_named("sharedMem"))
    declare_variable(Memory::shared, {"sharedMem", Type::u64, {}, {{Extent::constant, 1056, "1056"}}, {}});
}

void Analyser::declare_function(const Item& item) {
  const FullType& result = item.result;
  Symbol* symbol = new_symbol(Symbol::Kind::function, item.name, result.type, item.position);
  program_.functions.push_back(std::make_unique<Function>());
  Function& function = *program_.functions.back();
  symbol->function = &function;
  function.item = &item;
  static_cast<FullType&>(*symbol) = result;
  if (result.type == Type::pointer) symbol->pointee = checked_pointee(result, item.position);
  if (result.type == Type::structure) function.result = hidden_record(result.structure, item.position);
  for (const Parameter& parameter : item.parameters) function.parameters.push_back(make_parameter(parameter));
  if (find_api(item.name) != nullptr)
    error(item.position, "'" + item.name + "' is a built-in function", "choose another name");
  add_to_scope(symbol);
}

Symbol* Analyser::make_parameter(const Parameter& parameter) {
  const FullType& type = parameter.type;
  if (type.type == Type::structure) {
    Symbol* record =
        make_variable(Memory::local, {parameter.name, type.type, type.structure, {}, parameter.position});
    if (parameter.is_const) set_const(*record);
    return record;
  }
  if (type.type == Type::nothing) error(parameter.position, "a parameter cannot have type 'void'");
  Symbol* symbol = type.type == Type::pointer
                       ? make_pointer(parameter.name, type, parameter.position)
                       : new_symbol(Symbol::Kind::local, parameter.name, type.type, parameter.position);
  symbol->assignments = 1;  // a parameter's value differs between calls
  symbol->is_const = parameter.is_const;
  return symbol;
}

void Analyser::declare_file_scope(Statement& statement) {
  if (statement.type == Type::nothing) return error(statement.position, "a variable cannot have type 'void'");
  for (Declarator& declarator : statement.declarators) {
    const bool is_aggregate = statement.type == Type::structure || !declarator.dimensions.empty();
    if (declarator.is_pointer) {
      error(declarator.position, "a per-thread variable cannot be a pointer",
            "store an index, or declare the pointer inside a handler");
    } else if (is_aggregate && statement.is_const) {
      declare_table(statement, declarator);
    } else if (statement.is_const) {
      Symbol* symbol =
          new_symbol(Symbol::Kind::constant, declarator.name, statement.type, declarator.position);
      declarator.symbol = symbol;
      symbol->is_const = true;
      declare_constant(statement, declarator, *symbol);
      add_to_scope(symbol);
    } else {
      if (is_aggregate != declarator.has_list && (declarator.has_list || declarator.initializer != nullptr)) {
        error(declarator.position,
              is_aggregate ? "the initialiser of '" + declarator.name + "' must be a list in braces"
                           : "'" + declarator.name + "' is a scalar, so its initialiser cannot be a list",
              is_aggregate ? "write '= { ... }'" : "");
      }
      const bool is_declared = declare_with_dimensions(Memory::thread, statement, declarator) != nullptr;
      const bool has_values = is_aggregate ? !declarator.list.empty() : declarator.initializer != nullptr;
      if (is_declared && has_values) initialized_.push_back(&declarator);
    }
  }
}

/// `host` variables keep their values across launches.
void Analyser::declare_host(Statement& statement) {
  if (statement.is_const)
    error(statement.position, "a 'host' variable cannot be const", "remove 'host' to declare a constant");
  for (Declarator& declarator : statement.declarators) {
    if (declarator.is_pointer) {
      error(declarator.position,
            "a 'host' variable cannot be a pointer: its target does not outlive the report",
            "store an index instead");
      continue;
    }
    Symbol* symbol = declare_with_dimensions(Memory::host, statement, declarator);
    if (symbol == nullptr) continue;
    if (declarator.initializer != nullptr && symbol->kind == Symbol::Kind::array &&
        symbol->dimensions.empty()) {
      store_constant({symbol, {}, std::move(declarator.initializer)});
    } else if (declarator.initializer != nullptr) {
      error(declarator.initializer->position, "this value cannot initialise '" + declarator.name + "'",
            "write a list in braces");
    }
    for (Spread& each : spread_list(symbol, declarator)) store_constant(each);
  }
}

void Analyser::declare_constant(const Statement& statement, Declarator& declarator, Symbol& symbol) {
  if (!declarator.initializer) {
    return error(declarator.position, "the constant '" + declarator.name + "' has no initialiser",
                 "write '= value'");
  }
  if (!analyse_alone(*declarator.initializer)) return;
  const auto constant = evaluate(*declarator.initializer);
  if (!constant) {
    return error(declarator.initializer->position,
                 "the initialiser of a 'const' at file scope must be a compile-time constant",
                 "remove 'const' to give each thread its own value");
  }
  const Constant converted = convert(*constant, statement.type);
  symbol.value = converted.integer;
  symbol.real = converted.real;
}

void Analyser::analyse_functions() {
  std::vector<Symbol*> helpers;  // a copy, because analysing bodies declares further symbols
  for (const auto& symbol : program_.symbols) {
    if (symbol->kind == Symbol::Kind::function) helpers.push_back(symbol.get());
  }
  for (const Symbol* symbol : helpers) {
    Function& function = *symbol->function;
    context_ = Context{};
    context_.helper = &function;
    context_.result = function.item->result;
    context_.uses = &function.uses;
    scopes_.emplace_back();
    for (Symbol* parameter : function.parameters) add_to_scope(parameter);
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
      error(call.position, "'" + call.symbol->name + "' is recursive",
            "helper functions are inlined and cannot be recursive; use a loop");
      break;
    }
    function.depth = std::max(function.depth, callee.depth + 1);
    function.expanded_nodes =
        std::min<std::uint64_t>(function.expanded_nodes + callee.expanded_nodes, maximum_nodes * 4);
  }
  function.visit = 2;
  if (function.depth == maximum_depth) {
    error(function.item->position, "calls of helper functions are nested too deeply here",
          "helper functions are inlined, at most " + std::to_string(maximum_depth) + " levels deep");
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
      analyse_body(body, context_of(TargetKind::kernel_entry), *item.body);
    }
    follows_statement = is_bare;
  }
  for (HandlerBody& body : program_.handlers) finish_handler(body, context_of(body.handler.target));
  for (HandlerBody& body : program_.reports) finish_handler(body, cod::on_host);
  for (HandlerBody& body : program_.ends) finish_handler(body, cod::on_end);
}

HandlerBody& Analyser::entry_handler(const Position& position) {
  HandlerBody& body = program_.handlers.emplace_back();
  body.handler.target = TargetKind::kernel_entry;
  body.handler.location = program_.locate(position);
  return body;
}

/// Turns each initialiser into assignments in one handler that runs before all others.
void Analyser::analyse_initializers() {
  if (initialized_.empty()) return;
  HandlerBody& body = entry_handler(initialized_.front()->position);
  body.handler.is_initializer = true;
  for (Declarator* declarator : initialized_) {
    enter(body, context_of(TargetKind::kernel_entry));
    auto statement = std::make_unique<Statement>();
    statement->kind = StatementKind::expression;
    statement->position = declarator->position;
    statement->expression = make_expression(ExpressionKind::comma, declarator->position);
    if (declarator->initializer != nullptr)
      declarator->list.push_back({declarator->position, std::move(declarator->initializer), {}});
    assign_list(declarator->symbol, *declarator, statement->expression->operands);
    body.statements.push_back(statement.get());
    program_.synthesized.push_back(std::move(statement));
  }
}

void Analyser::analyse_handler(Item& item) {
  bool is_report = false;
  HandlerBody body;
  body.handler.location = program_.locate(item.position);
  if (!resolve_labels(item, body, is_report)) return;  // the available functions are unknown
  if (is_report) {
    const bool is_end = body.is_end;
    std::vector<HandlerBody>& bodies = is_end ? program_.ends : program_.reports;
    bodies.push_back(std::move(body));
    return analyse_body(bodies.back(), is_end ? cod::on_end : cod::on_host, *item.body);
  }
  program_.handlers.push_back(std::move(body));
  HandlerBody& kept = program_.handlers.back();
  analyse_body(kept, context_of(kept.handler.target), *item.body);
}

void Analyser::enter(HandlerBody& body, std::uint32_t contexts) {
  context_ = Context{};
  context_.contexts = contexts;
  context_.uses = &body.uses;
}

void Analyser::analyse_body(HandlerBody& body, std::uint32_t contexts, Statement& code) {
  enter(body, contexts);
  scopes_.emplace_back();
  statement(code);
  scopes_.pop_back();
  body.statements.push_back(&code);
}

/// Follows the helpers that the handler calls and fills in the handler's public properties.
void Analyser::finish_handler(HandlerBody& body, std::uint32_t contexts) {
  std::set<ReachedFunction> seen;
  std::uint64_t nodes = body.uses.nodes;
  for (const Uses::Helper& call : body.uses.helpers) {
    nodes = std::min<std::uint64_t>(nodes + call.symbol->function->expanded_nodes, maximum_nodes * 4);
    check_reachable(*call.symbol->function, call, contexts, seen, body);
  }
  for (const Uses::Call& use : body.uses.calls) add_use(*use.api, body);
  body.handler.uses_state = body.handler.uses_state || !body.uses.states.empty();
  body.handler.needs_convergence = body.handler.needs_convergence || body.uses.updates_memory;
  std::sort(body.handler.site_values.begin(), body.handler.site_values.end());
  if (nodes > maximum_nodes) {
    Diagnostic diagnostic{Severity::error, body.handler.location,
                          "this handler is too large after its helpers are inlined",
                          "at most " + std::to_string(maximum_nodes) + " operations; use loops"};
    errors.push_back(std::move(diagnostic));
  }
}

/// Parameter slots, in an order that is the same for every lowering: one per array, one per named extent in
/// use, then the counter of dropped accesses.
void Analyser::make_words() {
  for (std::uint32_t i = 0; i < program_.arrays.size(); ++i)
    program_.words.push_back({Word::Kind::array_address, i, Extent::constant});
  for (const Extent extent : used_extents_) {
    const bool is_fixed = extent == Extent::lanes || extent == Extent::constant;
    if (!is_fixed) program_.words.push_back({Word::Kind::extent, 0, extent});
  }
  if (program_.finds_allocations) program_.words.push_back({Word::Kind::allocations, 0, Extent::constant});
  if (program_.checks_bounds) program_.words.push_back({Word::Kind::dropped, 0, Extent::constant});
  if (used_extents_.contains(Extent::device_words)) {
    for (std::uint32_t part = 0; part < WordMap::parts; ++part)
      program_.words.push_back({Word::Kind::word_map, part, Extent::constant});
  }
  for (std::uint32_t i = 0; i < program_.arrays.size(); ++i) {
    const std::vector<Dimension>& dimensions = program_.arrays[i].dimensions;
    if (dimensions.size() == 1 && dimensions[0].extent == Extent::shared_words)
      program_.words.push_back({Word::Kind::shared_counters, i, Extent::constant});
  }
}

Result<std::shared_ptr<const Program>> analyse(SyntaxTree tree, const std::string& file,
                                               Diagnostics& warnings) {
  auto program = std::make_shared<Program>();
  program->file = file;
  program->tree = std::move(tree);
  Analyser analyser(*program, warnings);
  analyser.run();
  if (!analyser.errors.empty()) {
    const auto& files = program->tree.files;
    const auto order = [&](const SourceLocation& place) {
      const auto found = std::find_if(files.begin(), files.end(),
                                      [&](const SourceFile& each) { return each.path == place.file; });
      return std::tuple(found - files.begin(), place.line, place.column);
    };
    std::stable_sort(
        analyser.errors.begin(), analyser.errors.end(),
        [&](const Diagnostic& a, const Diagnostic& b) { return order(a.location) < order(b.location); });
    quote_included_lines(files, analyser.errors);
    return Failure{std::move(analyser.errors)};
  }
  find_counters(*program);
  find_lane_values(*program);
  find_counted_words(*program);
  find_added_results(*program);
  quote_included_lines(program->tree.files, warnings);
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace lynxpp::cod
