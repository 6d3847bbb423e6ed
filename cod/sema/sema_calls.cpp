// Calls: helper functions, API functions (api.def) and the contexts in which they are available.
#include <algorithm>

#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"
#include "cod/sema/format.h"
#include "cod/sema/lane_dependence.h"

namespace lynxpp::cod {
namespace {

std::string count_of(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// True if the result is a vote: a single lane cannot compute it.
bool is_vote(Api api) {
  using enum Api;
  return is_one_of(api, {ballot, divergent_warp, warp_sum, warp_max, warp_min, warp_any, warp_all});
}

/// True if the result describes all active lanes or their accesses.
bool is_about_all_lanes(Api api) {
  return is_about_accesses(api) || is_one_of(api, {Api::active_mask, Api::active_thread_count});
}

/// "ON_BASIC_BLOCK_ENTRY, ON_BASIC_BLOCK_EXIT or ON_INSTRUCTION"
std::string contexts_text(std::uint32_t contexts) {
  std::vector<std::string> labels;
  for (int i = 0; i <= static_cast<int>(TargetKind::instruction_after); ++i) {
    if ((contexts >> i & 1u) != 0) labels.emplace_back(name_of(static_cast<TargetKind>(i)));
  }
  if ((contexts & cod::on_host) != 0) labels.emplace_back("ON_REPORT");
  if ((contexts & cod::on_end) != 0) labels.emplace_back("ON_END");
  std::string text;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i != 0) text += i + 1 == labels.size() ? " or " : ", ";
    text += labels[i];
  }
  return text;
}

bool needs_all_lanes(const ApiFunction& api) {
  using enum Api;
  return means_lanes(api.api) || is_one_of(api.api, {sync_threads, append, record, atomic_add});
}

}  // namespace

void Analyser::unknown_function(const Expression& expression) {
  std::vector<std::string> candidates = api_names();
  for (const auto& symbol : program_.symbols) {
    if (symbol->kind == Symbol::Kind::function) candidates.push_back(symbol->name);
  }
  Position position = expression.position;
  position.length = static_cast<std::uint32_t>(expression.text.size());
  error(position, "unknown function '" + expression.text + "()'", suggestion(expression.text, candidates));
}

Type Analyser::call(Expression& expression) {
  Symbol* symbol = find(expression.text);
  if (symbol != nullptr && symbol->kind == Symbol::Kind::function) return helper_call(expression, *symbol);
  if (const ApiFunction* api = find_api(expression.text)) return api_call(expression, *api);
  if (symbol != nullptr) {
    error(expression.position, "'" + expression.text + "' is a variable, not a function");
  } else {
    unknown_function(expression);
  }
  analyse_operands(expression);
  return Type::none;
}

Type Analyser::helper_call(Expression& expression, Symbol& symbol) {
  expression.symbol = &symbol;
  context_.uses->helpers.push_back(
      {&symbol, expression.position, context_.elections > 0, context_.conditions > 0});
  const auto& parameters = symbol.function->item->parameters;
  if (expression.operands.size() != parameters.size()) {
    error(expression.position, "'" + symbol.name + "()' takes " + count_of(parameters.size(), "argument") +
                                   ", not " + std::to_string(expression.operands.size()));
  }
  for (std::size_t i = 0; i < expression.operands.size(); ++i) {
    if (i >= parameters.size()) {
      static_cast<void>(operand(*expression.operands[i]));
    } else if (parameters[i].type.type == Type::structure) {
      structure_argument(expression, i, symbol.function->parameters[i]);
    } else {
      initial_value(*expression.operands[i], parameters[i].type);
    }
  }
  expression.take_type(symbol);
  return symbol.type == Type::structure ? structure_result(expression, symbol) : symbol.type;
}

/// Copies the argument twice, because evaluating another argument may call the same function and overwrite
/// the parameter.
void Analyser::structure_argument(Expression& call, std::size_t index, Symbol* parameter) {
  Symbol* kept = hidden_record(parameter->structure, call.operands[index]->position);
  ExpressionPtr first = record_value(kept, *call.operands[index]);
  ExpressionPtr second = first != nullptr
                             ? record_copy(parameter, *record_lvalue(kept, call.operands[index]->position))
                             : nullptr;
  if (second == nullptr) return;
  call.operands[index] = std::move(first);
  call.setup.push_back(std::move(second));
}

/// Turns `call` into an access to a hidden variable that receives the function's result before the next call.
Type Analyser::structure_result(Expression& call, const Symbol& function) {
  const Position position = call.position;
  Symbol* kept = hidden_record(function.structure, position);
  auto made = std::make_unique<Expression>(std::move(call));
  made->type = Type::nothing;
  call = std::move(*record_lvalue(kept, position));
  call.setup.push_back(std::move(made));
  const ExpressionPtr result = record_lvalue(function.function->result, position);
  copy_record(kept, *record_lvalue(kept, position), function.function->result, *result, call.setup);
  return Type::structure;
}

Type Analyser::api_call(Expression& expression, const ApiFunction& named) {
  const bool is_misspelt_label =
      named.api == Api::instruction_is && !context_.on_host() && !expression.operands.empty() &&
      expression.operands[0]->kind == ExpressionKind::name && find(expression.operands[0]->text) == nullptr;
  const ApiFunction& api = is_misspelt_label ? named : overload_for(expression, named);
  expression.api = &api;
  expression.elected = context_.elections > 0;
  if (api.api == Api::divergent_warp && expression.operands.empty()) {
    // Without an argument it tests whether the lanes disagree about the guard of this instruction.
    expression.operands.push_back(make_expression(ExpressionKind::call, expression.position));
    expression.operands.back()->text = "getPredicateValue";
  }
  const std::size_t before = errors.size();
  note_call(api, expression.position);
  if (errors.size() != before) return Type::none;  // not available here, whatever its arguments are
  return check_arguments(expression, api) ? call_by_arguments(expression, api) : Type::none;
}

/// Checks the arguments; their number is already correct.
Type Analyser::call_by_arguments(Expression& expression, const ApiFunction& api) {
  switch (api.arguments) {
    case ApiArguments::none: program_.asks_if_running |= api.api == Api::is_running; break;
    case ApiArguments::condition: static_cast<void>(value(*expression.operands[0])); break;
    case ApiArguments::value: return warp_value_call(expression, api);
    case ApiArguments::bits:
    case ApiArguments::floating: floating_argument(*expression.operands[0], api); break;
    case ApiArguments::unique: return unique_call(expression);
    case ApiArguments::element:
    case ApiArguments::element_value: return atomic_call(expression, api);
    case ApiArguments::array: return array_call(expression, api);
    case ApiArguments::instruction:
    case ApiArguments::instruction_labels:
    case ApiArguments::labels:
    case ApiArguments::block: return site_call(expression, api);
    case ApiArguments::position: return position_call(expression, api);
    case ApiArguments::address: return address_call(expression, api);
    case ApiArguments::emit:
    case ApiArguments::emit_top: emit_call(expression, api); break;
    case ApiArguments::print: print_call(expression); break;
    case ApiArguments::append: return append_call(expression, api);
    case ApiArguments::record: return record_call(expression, api);
    case ApiArguments::kept: return kept_call(expression, api);
    case ApiArguments::collection:
    case ApiArguments::bin: return collection_call(expression, api);
    case ApiArguments::entry: return entry_call(expression, api, nullptr);
    case ApiArguments::emit_ratio: emit_ratio_call(expression); break;
    case ApiArguments::emit_table: emit_table_call(expression); break;
    case ApiArguments::fold: fold_call(expression); break;
    case ApiArguments::words: words_argument(*expression.operands[0], api); break;
    case ApiArguments::emit_words: emit_words_call(expression, api); break;
    case ApiArguments::emit_arrays: emit_arrays_call(expression); break;
  }
  return api.result;
}

bool Analyser::check_arguments(Expression& expression, const ApiFunction& api) {
  const auto [least, most] = argument_counts(api.arguments);
  const std::size_t given = expression.operands.size();
  if (given >= least && given <= most) return true;
  const std::string takes = least == most ? count_of(least, "argument")
                                          : std::to_string(least) + " to " + count_of(most, "argument");
  error(expression.position, api.call() + " takes " + takes + ", not " + std::to_string(given));
  analyse_operands(expression);
  return false;
}

/// Analyses the arguments of an invalid call to find errors in them.
void Analyser::analyse_operands(Expression& expression) {
  for (const ExpressionPtr& operand : expression.operands) {
    const bool is_address = operand->kind == ExpressionKind::unary && operand->op == Operator::address_of;
    static_cast<void>(this->expression(is_address ? *operand->operands[0] : *operand));
  }
}

/// `&counts[i]` ▶ the element; null after an error.
Symbol* Analyser::element_argument(Expression& expression) {
  ExpressionPtr& argument = expression.operands[0];
  if (argument->kind == ExpressionKind::unary && argument->op == Operator::address_of) {
    ExpressionPtr element = std::move(argument->operands[0]);
    argument = std::move(element);
    if (this->expression(*argument) == Type::none) return nullptr;
  } else {
    const Type type = this->expression(*argument);
    if (type == Type::none) return nullptr;
    if (type != Type::pointer || argument->pointee == Type::none) {
      const bool is_element = argument->kind == ExpressionKind::index;
      return fail(argument->position, "an atomic function needs the address of an array element",
                  is_element ? "put '&' before it" : "write '&array[index]' of a 'global' array");
    }
    argument = dereferenced(std::move(argument));
  }
  const bool is_element = argument->kind == ExpressionKind::index && argument->symbol != nullptr &&
                          argument->symbol->kind == Symbol::Kind::array &&
                          (argument->symbol->memory == Symbol::Memory::global ||
                           argument->symbol->memory == Symbol::Memory::shared ||
                           argument->symbol->memory == Symbol::Memory::indirect);
  if (is_element && argument->symbol->is_const)
    return fail(argument->position, "an atomic function cannot modify the target of a pointer to const",
                "remove 'const' from the pointer's declaration");
  if (!is_element)
    return fail(argument->position,
                "only elements of 'global' and 'shared' arrays can be modified atomically",
                "other variables are private to a thread; assign to them directly");
  return argument->symbol;
}

Type Analyser::atomic_call(Expression& expression, const ApiFunction& api) {
  Symbol* array = element_argument(expression);
  if (expression.operands.size() > 1 && value(*expression.operands[1]) == Type::none) return Type::none;
  if (array == nullptr) return Type::none;
  const Position& position = expression.operands[0]->position;
  if (bytes_of(array->type) < 4)
    return fail(position,
                api.call() + " needs 32-bit or 64-bit elements, but '" + array->name +
                    "' has elements of type " + name_of(array->type),
                "declare it as 'unsigned int' or 'unsigned long'");
  if (is_floating(array->type) && api.api != Api::atomic_add)
    return fail(position, api.call() + " needs integer elements, but '" + array->name +
                              "' has elements of type " + name_of(array->type));
  switch (api.api) {
    case Api::atomic_max: note_change(*expression.operands[0], Symbol::maximised); break;
    case Api::atomic_min: note_change(*expression.operands[0], Symbol::minimised); break;
    default: note_change(*expression.operands[0], Symbol::added);
  }
  return array->type;
}

/// Returns the 'global' array that the argument names, possibly a field of an array of structures; null if it
/// is something else.
Symbol* Analyser::array_argument(Expression& argument) {
  const Expression* base = &argument;
  while (base->kind == ExpressionKind::member) base = base->operands[0].get();
  Symbol* symbol = base->kind == ExpressionKind::name ? find(base->text) : nullptr;
  if (symbol != nullptr && argument.kind == ExpressionKind::member && !symbol->dimensions.empty()) {
    Lvalue lvalue;
    symbol = resolve(argument, lvalue, true);
    argument.kind = ExpressionKind::name;
    argument.operands.clear();
    if (symbol != nullptr) argument.text = symbol->name;
  }
  if (symbol == nullptr || symbol->kind != Symbol::Kind::array) return nullptr;
  if (symbol->memory == Symbol::Memory::host && !symbol->dimensions.empty())
    return use_host_variable(symbol, argument.position) ? symbol : nullptr;
  if (symbol->memory != Symbol::Memory::global) return nullptr;
  return use_launch_data(symbol->name, argument.position) ? symbol : nullptr;
}

/// uniqueElementCount(value, half) or, as in the paper, uniqueElementCount(array, half) for the values that
/// the lanes last assigned to the array.
Type Analyser::unique_call(Expression& expression) {
  bool is_half = false;
  if (expression.operands.size() > 1) {
    const auto constant =
        constant_integer(*expression.operands[1],
                         "the second argument, which selects half warps, must be a compile-time constant",
                         "write true or false");
    if (!constant) return Type::none;
    is_half = constant->integer != 0;
  }
  expression.value = is_half ? 1 : 0;
  Expression& counted = *expression.operands[0];
  Symbol* symbol = counted.kind == ExpressionKind::name ? find(counted.text) : nullptr;
  if (symbol == nullptr || symbol->kind != Symbol::Kind::array || symbol->dimensions.empty()) {
    if (expression.elected) {
      error(expression.position,
            "uniqueElementCount() under leastActiveThreadInWarp() would see a single lane",
            "count before the 'if' and store the result in a variable");
    }
    const Type type = value(counted);
    return require_integer(counted, type, "uniqueElementCount()") ? Type::u32 : Type::none;
  }
  if (symbol->memory != Symbol::Memory::shared || context_.helper != nullptr)
    return fail(counted.position,
                "uniqueElementCount() takes a value, or a 'shared' array that the handler assigns to",
                "write 'uniqueElementCount(value)'");
  if (!context_.counted.contains(symbol))
    return fail(counted.position, "no statement before this one assigns to '" + symbol->name + "'",
                "assign to one of its elements first, outside of any condition");
  counted.symbol = symbol;
  (is_half ? symbol->counted_halves : symbol->counted_whole) = true;
  return Type::u32;
}

/// Sums are computed in 64 bits, minima and maxima in the value's own type.
Type Analyser::warp_value_call(Expression& expression, const ApiFunction& api) {
  const Type type = value(*expression.operands[0]);
  if (type == Type::none) return Type::none;
  if (is_floating(type)) return api.api == Api::warp_sum ? Type::f64 : type;
  if (api.api == Api::warp_sum) return is_signed(promote(type)) ? Type::i64 : Type::u64;
  return promote(type);
}

/// asFloat(bits), isNan(x)
void Analyser::floating_argument(Expression& argument, const ApiFunction& api) {
  const Type type = value(argument);
  const std::string function = api.call();
  if (api.arguments == ApiArguments::bits) {
    if (type != Type::none && !is_integer(type)) {
      error(argument.position,
            function + " takes the bits of a number as an integer, not a value of type " + name_of(type),
            "write 'asFloat(resultValue())'");
    }
  } else if (type != Type::none && !is_floating(type)) {
    error(argument.position, function + " takes a float or a double, not a value of type " + name_of(type),
          "to reinterpret bits, write '" + function.substr(0, function.size() - 1) +
              "asFloat(resultValue()))'");
  }
}

Type Analyser::array_call(Expression& expression, const ApiFunction& api) {
  Expression& argument = *expression.operands[0];
  Symbol* symbol = array_argument(argument);
  if (symbol == nullptr) {
    if (value(argument) != Type::none) {
      error(argument.position, api.call() + " needs a 'global' array",
            "write '" + std::string(api.name) + "(counts)'");
    }
    return Type::none;
  }
  argument.symbol = symbol;
  if (api.result != Type::none) return api.result;
  if (is_floating(symbol->type)) return Type::f64;
  return is_signed(symbol->type) ? Type::i64 : Type::u64;
}

void Analyser::print_call(Expression& expression) {
  Expression& format = *expression.operands[0];
  for (std::size_t i = 1; i < expression.operands.size(); ++i) text_or_value(*expression.operands[i]);
  if (format.kind != ExpressionKind::string) {
    return error(format.position, "the first argument of print() must be a format string",
                 "write 'print(\"%lu\\n\", value)'");
  }
  std::vector<FormatPiece> pieces;
  std::string unknown;
  if (!parse_format(format.text, pieces, unknown)) {
    return error(format.position, "'" + unknown + "' is not a conversion that print() supports",
                 "use %d %u %x %f %e %g %s with flags, width and precision");
  }
  std::erase_if(pieces, [](const FormatPiece& piece) { return piece.kind == FormatPiece::Kind::text; });
  if (pieces.size() + 1 != expression.operands.size()) {
    return error(format.position, "this format string takes " + count_of(pieces.size(), "value") + ", not " +
                                      std::to_string(expression.operands.size() - 1));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Expression& argument = *expression.operands[i + 1];
    if (argument.type == Type::none) continue;
    const bool wants_floating = pieces[i].kind == FormatPiece::Kind::floating;
    const bool wants_text = pieces[i].kind == FormatPiece::Kind::string;
    if (wants_text != (argument.type == Type::text)) {
      error(argument.position,
            "'" + pieces[i].source + "' cannot format a value of type " + name_of(argument.type),
            wants_text ? "use %d, %u or %f for numbers" : "use %s for strings");
    } else if (wants_floating != is_floating(argument.type)) {
      error(argument.position,
            "'" + pieces[i].source + "' cannot format a value of type " + name_of(argument.type),
            wants_floating ? "cast it to (double) or use %d or %u" : "cast it to (long) or use %f");
    }
  }
}

/// Accepts a string (literals included) or a number.
void Analyser::text_or_value(Expression& argument) {
  const Type type = expression(argument);
  if (argument.kind == ExpressionKind::string) argument.type = Type::text;
  if (argument.type != Type::text) static_cast<void>(number(argument, type));
}

// ---------------------------------------------------------------- availability

void Analyser::note_call(const ApiFunction& api, const Position& position) {
  const Uses::Call call{&api, position, context_.elections > 0, context_.conditions > 0};
  context_.uses->calls.push_back(call);
  if (context_.is_handler()) check_context(call, context_.contexts, "");
}

void Analyser::check_context(const Uses::Call& call, std::uint32_t contexts, const std::string& through) {
  const ApiFunction& api = *call.api;
  const Position& position = call.position;
  const std::string function = api.call();
  const std::string subject =
      through.empty() ? function : "'" + through + "()' calls " + function + ", which";
  if ((api.contexts & contexts) != contexts) {
    return error(position, subject + " is not available in " + contexts_text(contexts),
                 "use it in " + contexts_text(api.contexts));
  }
  if (call.elected && (is_vote(api.api) || is_about_all_lanes(api.api))) {
    const bool is_taken = is_vote(api.api);
    error(position,
          subject + (through.empty() ? " under leastActiveThreadInWarp() would see a single lane"
                                     : " would see a single lane here"),
          std::string(is_taken ? "take the vote" : "call it") +
              " before the 'if' and store the result in a variable");
  }
  if (api.api != Api::sync_threads) return;
  const bool is_safe =
      contexts == context_of(TargetKind::kernel_entry) || contexts == context_of(TargetKind::kernel_exit);
  if (!is_safe || call.conditional) {
    error(position, subject + " is safe only where all threads of the block execute it",
          "use it in ON_KERNEL_ENTRY or ON_KERNEL_EXIT outside of any condition");
  }
}

void Analyser::add_use(const ApiFunction& api, HandlerBody& body) {
  auto& sites = body.handler.site_values;
  if (api.site && std::find(sites.begin(), sites.end(), *api.site) == sites.end()) sites.push_back(*api.site);
  if (api.api == Api::sync_threads && body.sampling.warps > 1) {
    errors.push_back({Severity::error, body.handler.location,
                      "syncThreads() would wait for the warps that SAMPLE_WARPS skips",
                      "sample thread blocks instead: 'SAMPLE_BLOCKS(16):'"});
  }
  if (api.api == Api::sync_threads && body.handler.target == TargetKind::kernel_exit)
    body.handler.syncs_at_exit = true;
  body.handler.needs_convergence = body.handler.needs_convergence || needs_all_lanes(api);
}

/// Checks that everything a helper uses is available where it is called.
void Analyser::check_reachable(const Function& function, const Uses::Helper& call, std::uint32_t contexts,
                               std::set<ReachedFunction>& seen, HandlerBody& body) {
  if (!seen.emplace(&function, call.elected, call.conditional).second) return;
  const std::string& name = call.symbol->name;
  const bool is_host = (contexts & cod::in_reports) == contexts;
  if (!is_host && !function.uses.host_variables.empty()) {
    error(call.position, "'" + name + "()' uses '" + function.uses.host_variables.front().first->name +
                             "', which is a 'host' variable");
  }
  if (contexts == cod::on_end && !function.uses.launch_data.empty()) {
    error(call.position, "'" + name + "()' uses '" + function.uses.launch_data.front().first +
                             "', which belongs to a launch and is not available in ON_END");
  }
  if (is_host) {
    for (const auto* used : {&function.uses.states, &function.uses.shared_arrays}) {
      if (used->empty()) continue;
      error(call.position, "'" + name + "()' uses '" + used->front().first->name +
                               "', which belongs to the kernel's threads and is not available in ON_REPORT");
    }
  }
  body.handler.uses_state = body.handler.uses_state || !function.uses.states.empty();
  body.handler.needs_convergence = body.handler.needs_convergence || function.uses.updates_memory;
  for (const Uses::Call& use : function.uses.calls) {
    add_use(*use.api, body);
    check_context({use.api, call.position, use.elected || call.elected, use.conditional || call.conditional},
                  contexts, name);
  }
  for (const Uses::Helper& inner : function.uses.helpers) {
    const Uses::Helper from_here{call.symbol, call.position, call.elected || inner.elected,
                                 call.conditional || inner.conditional};
    check_reachable(*inner.symbol->function, from_here, contexts, seen, body);
  }
}

}  // namespace lynxpp::cod
