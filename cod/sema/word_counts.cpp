#include "cod/sema/word_counts.h"

#include <algorithm>

#include "cod/sema/analyser.h"

namespace lynxpp::cod {
namespace {

/// Returns false if the statement does anything else. Appends the arrays.
bool only_counts(const Statement& statement, std::vector<std::uint32_t>& arrays) {
  switch (statement.kind) {
    case StatementKind::empty: return true;
    case StatementKind::block:
      return std::ranges::all_of(statement.children,
                                 [&](const StatementPtr& child) { return only_counts(*child, arrays); });
    case StatementKind::expression: {
      const Expression& call = *statement.expression;
      const bool counts = is_call_of(call, Api::count_words) && call.setup.empty();
      if (counts) arrays.push_back(call.operands[0]->symbol->index);
      return counts;
    }
    default: return false;
  }
}

}  // namespace

void find_counted_words(Program& program) {
  for (HandlerBody& body : program.handlers) {
    if (body.handler.target != TargetKind::instruction || body.is_sampled()) continue;
    std::vector<std::uint32_t> arrays;
    const bool only = std::ranges::all_of(
        body.statements, [&](const Statement* statement) { return only_counts(*statement, arrays); });
    if (only) body.handler.counted_words = std::move(arrays);
  }
}

/// Checks the name of a `global` integer array with one extent, SHARED_WORDS or DEVICE_WORDS.
void Analyser::words_argument(Expression& argument, const ApiFunction& api) {
  const std::string hint = "declare 'global unsigned int accesses[SHARED_WORDS];', or [DEVICE_WORDS]";
  const std::size_t before = errors.size();
  Symbol* symbol = argument.kind == ExpressionKind::name ? find(argument.text) : nullptr;
  const bool is_of_words = symbol != nullptr && symbol->kind == Symbol::Kind::array &&
                           symbol->memory == Symbol::Memory::global && symbol->dimensions.size() == 1 &&
                           (symbol->dimensions[0].extent == Extent::shared_words ||
                            symbol->dimensions[0].extent == Extent::device_words) &&
                           is_integer(symbol->type) && bytes_of(symbol->type) >= 4;
  if (!is_of_words) {
    if (errors.size() == before)
      error(argument.position,
            api.call() +
                " needs an array of 32-bit or 64-bit integers with the extent SHARED_WORDS or DEVICE_WORDS",
            hint);
    return;
  }
  argument.symbol = symbol;
  program_.checks_bounds = true;
  if (api.api == Api::count_words) program_.arrays[symbol->index].counts_words = true;
}

/// emitWords(name, array, unit, begins)
void Analyser::emit_words_call(Expression& expression, const ApiFunction& api) {
  note_emitted(*expression.operands[0]);
  const std::string hint = "write 'emitWords(\"accesses\", accesses)'";
  literal_text(*expression.operands[0], "the name of a result", hint);
  if (expression.operands.size() > 2) literal_text(*expression.operands[2], "the unit of a result", hint);
  Expression& array = *expression.operands[1];
  words_argument(array, api);
  if (array.symbol != nullptr) static_cast<void>(use_launch_data(array.symbol->name, array.position));
  if (expression.operands.size() <= 3) return;
  Expression& begins = *expression.operands[3];
  words_argument(begins, api);
  if (array.symbol == nullptr || begins.symbol == nullptr) return;
  static_cast<void>(use_launch_data(begins.symbol->name, begins.position));
  program_.arrays[begins.symbol->index].counts_ranges = true;
  for (const Expression* each : {&array, &begins}) {
    if (each->symbol->dimensions[0].extent != Extent::shared_words)
      error(each->position, "emitWords() counts by live range only in shared memory",
            "declare the array with the extent SHARED_WORDS");
  }
}

/// emitArrays(name)
void Analyser::emit_arrays_call(Expression& expression) {
  note_emitted(*expression.operands[0]);
  emitted_text(*expression.operands[0], "the name of a result");
  program_.lists_arrays = true;
}

}  // namespace lynxpp::cod
