// Results that ON_REPORT and ON_END emit.
#include <algorithm>

#include "cod/sema/analyser.h"

namespace lynxpp::cod {

void Analyser::emitted_text(Expression& argument, const std::string& what) {
  if (argument.kind == ExpressionKind::string && !argument.text.empty()) return;
  if (argument.kind != ExpressionKind::string && this->expression(argument) == Type::text) return;
  literal_text(argument, what, "write 'emit(\"cycles\", value, \"cycles\")'");
}

void Analyser::literal_text(const Expression& argument, const std::string& what, const std::string& hint) {
  if (argument.kind != ExpressionKind::string || argument.text.empty())
    error(argument.position, what + " must be a non-empty string", hint);
}

/// Rejects a name that is certainly already emitted when this call is reached: by an earlier call all of
/// whose enclosing branches also enclose this one.
void Analyser::note_emitted(const Expression& name, bool is_table) {
  if (name.kind != ExpressionKind::string || context_.helper != nullptr) {
    emits_other_names_ = true;
    return;
  }
  const auto is_surely_before = [&](const EmittedName& each) {
    return each.name == name.text && each.at_end == context_.at_end() &&
           each.branches.size() <= context_.branches.size() &&
           std::equal(each.branches.begin(), each.branches.end(), context_.branches.begin());
  };
  const auto before = std::ranges::find_if(emitted_, is_surely_before);
  if (before != emitted_.end()) {
    error(name.position, "a result '" + name.text + "' already exists",
          "line " + std::to_string(before->position.line) + " emits it; choose a unique name");
  }
  emitted_.push_back({name.text, context_.branches, name.position, context_.at_end(), is_table});
}

/// emitRatio(name, numerator, denominator, unit)
void Analyser::emit_ratio_call(Expression& expression) {
  emitted_text(*expression.operands[0], "the name of a result");
  note_emitted(*expression.operands[0]);
  if (expression.operands.size() > 3) emitted_text(*expression.operands[3], "the unit of a result");
  for (const std::size_t i : {1u, 2u}) static_cast<void>(value(*expression.operands[i]));
}

/// emitTable(name, column, array, column, array, …)
void Analyser::emit_table_call(Expression& expression) {
  const std::string hint = "write 'emitTable(\"loads\", \"count\", counts, \"lanes\", lanes)'";
  if (expression.operands.size() % 2 == 0)
    error(expression.position, "each column of a table needs a name and an array", hint);
  Expression& name = *expression.operands[0];
  note_emitted(name, true);
  literal_text(name, "the name of a table", hint);
  const Symbol* first = nullptr;
  for (std::size_t i = 1; i + 1 < expression.operands.size(); i += 2) {
    const Expression& column = *expression.operands[i];
    Expression& array = *expression.operands[i + 1];
    literal_text(column, "the name of a column", hint);
    const std::size_t before = errors.size();
    array.symbol = array_argument(array);
    if (array.symbol == nullptr) {
      if (errors.size() == before) error(array.position, "a column of a table must be an array", hint);
      continue;
    }
    const auto same = [](const Dimension& a, const Dimension& b) {
      return a.extent == b.extent && a.constant == b.constant;
    };
    if (first == nullptr) first = array.symbol;
    const auto& extents = first->dimensions;
    const auto& others = array.symbol->dimensions;
    if (!std::equal(extents.begin(), extents.end(), others.begin(), others.end(), same))
      error(array.position, "'" + array.symbol->name + "' has different extents from '" + first->name + "'",
            "all columns of a table must have the same length");
  }
}

/// fold(name, how) applies to the results with that name of all launches, wherever the call is.
void Analyser::fold_call(Expression& expression) {
  static const std::map<std::string, Folding, std::less<>> ways{
      {"sum", Folding::sum},      {"mean", Folding::mean}, {"min", Folding::least},
      {"max", Folding::greatest}, {"same", Folding::same}, {"first", Folding::first},
      {"last", Folding::last},    {"key", Folding::key},   {"concatenate", Folding::concatenate}};
  const Expression& name = *expression.operands[0];
  const Expression& how = *expression.operands[1];
  if (name.kind != ExpressionKind::string || name.text.empty())
    return error(name.position, "fold() takes the name of a result", "write 'fold(\"cycles\", \"max\")'");
  const auto way = how.kind == ExpressionKind::string ? ways.find(how.text) : ways.end();
  if (way == ways.end()) {
    std::vector<std::string> names;
    for (const auto& [each, folding] : ways) names.push_back(each);
    const std::string match = how.kind == ExpressionKind::string ? suggestion(how.text, names) : "";
    return error(
        how.position, "this is not a way to combine results of several launches",
        match.empty() ? "expected sum, mean, min, max, same, first, last, key or concatenate" : match);
  }
  const auto [known, is_new] = program_.folds.emplace(name.text, way->second);
  if (!is_new && known->second != way->second)
    error(name.position, "'" + name.text + "' is already folded in a different way");
  folds_.push_back(&expression);
}

/// Runs once all emitted names are known.
void Analyser::check_folds() {
  for (const Expression* call : folds_) {
    const Expression& name = *call->operands[0];
    const auto is_named = [&](const EmittedName& each) {
      return !each.at_end &&
             (each.name == name.text || (each.is_table && name.text.starts_with(each.name + ".")));
    };
    const auto found = std::ranges::find_if(emitted_, is_named);
    if (found == emitted_.end()) {
      std::vector<std::string> names;
      for (const EmittedName& each : emitted_) names.push_back(each.name);
      if (!emits_other_names_)
        error(name.position, "no result named '" + name.text + "' is emitted", suggestion(name.text, names));
      continue;
    }
    const std::string& how = call->operands[1]->text;
    const bool is_column = found->is_table && found->name != name.text;
    if (how == "concatenate" && !found->is_table)
      error(call->operands[1]->position, "only tables have rows to concatenate");
    if (how == "key" && !is_column)
      error(call->operands[1]->position, "only a column of a table can be a key",
            "write it with its table's name: 'fold(\"loads.line\", \"key\")'");
  }
}

/// emit(name, value, unit) and emitTop(name, map, count, unit).
void Analyser::emit_call(Expression& expression, const ApiFunction& api) {
  emitted_text(*expression.operands[0], "the name of a result");
  const std::size_t unit = api.api == Api::emit_top ? 3 : 2;
  if (expression.operands.size() > unit) {
    emitted_text(*expression.operands[unit], "the unit of a result");
    program_.emits_addresses |= expression.operands[unit]->text == "address";
  }
  Expression& result = *expression.operands[1];
  const Collection* collection = emitted_collection(result);
  Symbol* record = result.kind == ExpressionKind::name ? find(result.text) : nullptr;
  const bool is_record =
      record != nullptr && record->kind == Symbol::Kind::record && !record->dimensions.empty();
  note_emitted(*expression.operands[0],
               collection != nullptr ? collection->kind != Collection::Kind::histogram : is_record);
  if (api.api == Api::emit_top) {
    Expression& count = *expression.operands[2];
    require_integer(count, value(count), "the number of entries");
    if (collection == nullptr || collection->kind != Collection::Kind::map)
      error(result.position, "emitTop() needs a map", "write 'emitTop(\"hot\", lines, 10)'");
    return;
  }
  if (collection != nullptr) return;
  if (is_record) return emit_record(result, record);
  const std::size_t before = errors.size();
  result.symbol = array_argument(result);
  if (result.symbol == nullptr && errors.size() == before) static_cast<void>(value(result));
}

/// Emits an array of structures as a table with one column per field.
void Analyser::emit_record(Expression& result, Symbol* record) {
  std::vector<Symbol*> leaves;
  for_each_part(*record, [&](Symbol& part) {
    if (part.kind != Symbol::Kind::record) leaves.push_back(&part);
  });
  for (Symbol* leaf : leaves) {
    const bool is_host = leaf->memory == Symbol::Memory::host;
    if (!is_host && leaf->memory != Symbol::Memory::global)
      return error(result.position, "only 'global' and 'host' arrays can be emitted");
    if (is_host ? !use_host_variable(leaf, result.position) : !use_launch_data(leaf->name, result.position))
      return;
    if (leaf->dimensions.size() == record->dimensions.size()) continue;
    return error(result.position, "the field '" + leaf->name + "' is an array",
                 "emit the fields one by one: 'emit(\"name\", " + record->name + ".field)'");
  }
  result.symbol = record;
}

}  // namespace lynxpp::cod
