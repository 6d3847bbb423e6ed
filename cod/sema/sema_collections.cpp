// Traces, histograms and maps: declarations, and the functions on them.
#include <algorithm>
#include <array>
#include <bit>

#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t maximum_capacity = std::uint64_t{1} << 30;
constexpr std::uint32_t maximum_key_bits = 256;
constexpr std::int64_t maximum_bound = std::int64_t{1} << 62;

std::string name_of(Collection::Kind kind) {
  switch (kind) {
    case Collection::Kind::trace: return "trace";
    case Collection::Kind::histogram: return "histogram";
    case Collection::Kind::map: break;
  }
  return "map";
}

std::string example_of(Collection::Kind kind, const std::string& name) {
  switch (kind) {
    case Collection::Kind::trace: return "global trace unsigned long " + name + "[65536];";
    case Collection::Kind::histogram: return "global histogram " + name + "[32];";
    case Collection::Kind::map: break;
  }
  return "global map unsigned long " + name + "[4096] by unsigned long;";
}

std::vector<Dimension> element_dimensions(const Collection& collection) {
  std::vector<Dimension> dimensions = collection.leading;
  dimensions.push_back({Extent::constant, collection.stride(), std::to_string(collection.stride())});
  return dimensions;
}

/// a[i][j] ▶ a, and the indices in order.
Expression* base_of(Expression& expression, std::vector<ExpressionPtr*>& indices) {
  Expression* base = &expression;
  while (base->kind == ExpressionKind::index && base->operands.size() == 2) {
    indices.insert(indices.begin(), &base->operands[1]);
    base = base->operands[0].get();
  }
  return base;
}

/// Words that may follow `global`, `shared` and the like, for suggestions.
constexpr const char* words_of_storage[] = {"trace",   "histogram", "map",     "const",   "unsigned",
                                            "signed",  "char",      "short",   "int",     "long",
                                            "struct",  "float",     "double",  "size_t",  "bool",
                                            "int32_t", "uint32_t",  "int64_t", "uint64_t"};

}  // namespace

// ---------------------------------------------------------------- declarations

void Analyser::declare_collection(const Item& item) {
  const StorageClause& clause = item.storage;
  auto owned = std::make_unique<Collection>();
  Collection& collection = *owned;
  using enum Collection::Kind;
  const std::array kinds{trace, histogram, map};
  const auto kind =
      std::ranges::find(kinds, clause.kind, [](Collection::Kind each) { return name_of(each); });
  if (kind == kinds.end()) {
    std::vector<std::string> words(std::begin(words_of_storage), std::end(words_of_storage));
    words.insert(words.end(), program_.tree.types.begin(), program_.tree.types.end());
    return error(clause.position, "'" + clause.kind + "' is neither a type nor a kind of storage",
                 suggestion(clause.kind, words));
  }
  collection.kind = *kind;
  collection.name = item.name;
  const std::string hint = "for example, write '" + example_of(collection.kind, item.name) + "'";
  const bool wants_type = collection.kind != Collection::Kind::histogram;
  if (clause.has_type != wants_type) {
    return error(item.position,
                 "a " + name_of(collection.kind) +
                     (wants_type ? " needs a type" : " has no element type: its bins are unsigned long"),
                 hint);
  }
  if (clause.has_key != (collection.kind == Collection::Kind::map))
    return error(item.position, clause.has_key ? "only a map has keys" : "a map needs a key type", hint);
  if (!clause.binning.empty() && collection.kind != Collection::Kind::histogram)
    return error(clause.binning_position, "only a histogram has bins", hint);
  if (item.has_initial)
    error(item.initial.position,
          "a " + name_of(collection.kind) + " starts empty and cannot have an initialiser",
          collection.kind == Collection::Kind::histogram
              ? "to define its bins, write 'linear(0, 100)' or 'log2(1)'"
              : "only arrays can have an initialiser");
  std::vector<Dimension> dimensions =
      dimensions_of(Memory::global, item.name, item.position, item.extents, item.initial.list.size());
  if (dimensions.empty() || dimensions.back().extent != Extent::constant) {
    return error(item.position, "the number of entries of '" + item.name + "' must be a constant",
                 hint + ", with named extents before the number of entries");
  }
  collection.capacity = dimensions.back().constant;
  if (collection.capacity > maximum_capacity)
    return error(item.position, "'" + item.name + "' has more than 2^30 entries");
  dimensions.pop_back();
  collection.leading = std::move(dimensions);
  switch (collection.kind) {
    case Collection::Kind::trace:
      declare_content(item, collection);
      collection.counter = hidden_array(collection, "length", collection.leading, item.position);
      break;
    case Collection::Kind::histogram:
      if (!read_bounds(clause, collection)) collection.capacity = 1;
      declare_content(item, collection);
      collection.counter = hidden_array(collection, "underflow", collection.leading, item.position);
      collection.overflow = hidden_array(collection, "overflow", collection.leading, item.position);
      break;
    case Collection::Kind::map: declare_map(item, collection); break;
  }
  program_.collections.push_back(std::move(owned));
}

/// Creates an array that specifications cannot name.
Symbol* Analyser::hidden_array(Collection& collection, const std::string& part,
                               std::vector<Dimension> dimensions, const Position& position) {
  Symbol* symbol = declare_leaf(
      Memory::global, {collection.name + " " + part, Type::u64, {}, std::move(dimensions), position});
  symbol->collection = &collection;
  program_.arrays[symbol->index].is_hidden = true;
  return symbol;
}

/// Registers the arrays that `content` consists of; they are results only through the collection.
void Analyser::add_leaves(Symbol* content, Collection& collection, const Position& position) {
  content->collection = &collection;
  if (content->kind == Symbol::Kind::record) {
    for (const auto& [name, field] : content->fields) add_leaves(field, collection, position);
    return;
  }
  if (content->type == Type::none) return;
  if (content->dimensions.size() != collection.leading.size() + 1)
    return error(position, "the entries of '" + collection.name + "' contain numbers, not arrays",
                 "access the fields one by one");
  collection.leaves.push_back(content);
  program_.arrays[content->index].is_hidden = true;
  program_.emits_addresses |= content->name.ends_with(".address") || content->name.ends_with("_address");
}

/// Declares the arrays of the elements, for each index of the leading dimensions.
void Analyser::declare_content(const Item& item, Collection& collection) {
  const Type type = collection.kind == Collection::Kind::histogram ? Type::u64 : item.type;
  Symbol* content = declare_variable(
      Memory::global, {item.name, type, item.structure, element_dimensions(collection), item.position});
  add_leaves(content, collection, item.position);
  collection.namings.resize(collection.leaves.size());
}

bool Analyser::analyse_alone(Expression& expression) {
  Uses unused;
  context_ = Context{};
  context_.uses = &unused;
  const std::size_t before = errors.size();
  return value(expression) != Type::none && errors.size() == before;
}

std::optional<std::int64_t> Analyser::constant_bound(Expression& expression) {
  if (!analyse_alone(expression)) return std::nullopt;
  const Type type = expression.type;
  const auto constant = evaluate(expression);
  const bool is_negative = is_signed(type) && constant && static_cast<std::int64_t>(constant->integer) < 0;
  const std::uint64_t size = constant ? (is_negative ? -constant->integer : constant->integer) : 0;
  if (!constant || !is_integer(type) || size > static_cast<std::uint64_t>(maximum_bound))
    return fail(expression.position,
                "a histogram bound must be a constant integer of magnitude at most 2^62");
  return static_cast<std::int64_t>(constant->integer);
}

bool Analyser::read_bounds(const StorageClause& clause, Collection& collection) {
  const std::string count = std::to_string(collection.capacity);
  std::vector<std::int64_t> bounds;
  for (const ExpressionPtr& bound : clause.bounds) {
    const auto constant = constant_bound(*bound);
    if (!constant) return false;
    bounds.push_back(*constant);
  }
  collection.is_linear = clause.binning == "linear";
  if (!collection.is_linear && clause.binning != "log2" && !clause.binning.empty()) {
    const std::string hint = suggestion(clause.binning, {"linear", "log2"});
    return fail(clause.binning_position, "'" + clause.binning + "' is not a binning function",
                hint.empty() ? "write 'linear(0, " + count + ")', 'log2()' or 'log2(16)'" : hint);
  }
  if (collection.is_linear) {
    if (bounds.size() != 2 || bounds[0] >= bounds[1])
      return fail(clause.binning_position,
                  "linear() takes the lower bound of the first bin and the upper bound of the last one",
                  "for example, write 'linear(0, " + count + ")'");
    const std::uint64_t range = static_cast<std::uint64_t>(bounds[1]) - static_cast<std::uint64_t>(bounds[0]);
    if (range % collection.capacity != 0) {
      const std::uint64_t width = range / collection.capacity + 1;
      return fail(clause.binning_position,
                  "bins must have integer widths: " + std::to_string(range) +
                      " values do not divide evenly into " + count,
                  "write 'linear(" + std::to_string(bounds[0]) + ", " +
                      std::to_string(bounds[0] + static_cast<std::int64_t>(width * collection.capacity)) +
                      ")'");
    }
    collection.first = bounds[0];
    collection.width = range / collection.capacity;
    return true;
  }
  if (!bounds.empty()) collection.first = bounds[0];
  if (bounds.size() > 1 || collection.first < 1)
    return fail(clause.binning_position,
                "log2() takes the lower bound of the first bin, which must be at least 1");
  if (collection.capacity > 62 || collection.first > maximum_bound >> collection.capacity)
    return fail(clause.binning_position, "the upper bound of the last bin exceeds 2^62",
                "each bin's upper bound is twice its lower bound; use fewer bins");
  return true;
}

bool Analyser::read_key(const Item& item, Collection& collection) {
  const StorageClause& clause = item.storage;
  const auto add = [&](const std::string& name, Type type) {
    if (is_integer(type)) {
      collection.key.push_back({name, type});
      return true;
    }
    error(item.position, "a key must consist of integers", "for example, write 'by unsigned long'");
    return false;
  };
  if (clause.key != Type::structure) return add("", clause.key);
  const StructureInfo* info = structure_info(clause.key_structure, item.position);
  if (info == nullptr) return false;
  for (const Field& field : info->structure->fields) {
    if (!field.dimensions.empty() || !add(field.name, field.type)) {
      if (!field.dimensions.empty()) error(item.position, "a key must consist of integers, not arrays");
      return false;
    }
  }
  if (collection.key_bits() > maximum_key_bits || collection.key.empty())
    return fail(item.position, "a key must have 1 to " + std::to_string(maximum_key_bits / 8) + " bytes");
  return true;
}

void Analyser::declare_map(const Item& item, Collection& collection) {
  if (!read_key(item, collection)) {
    collection.key.clear();
    collection.key.push_back({"", Type::u64});
  }
  // Twice the requested capacity keeps probe sequences short.
  collection.capacity = std::bit_ceil(collection.capacity * 2);
  declare_content(item, collection);
  const std::uint32_t words = collection.has_zero_slot() ? 1 : (collection.key_bits() + 62) / 63;
  for (std::uint32_t i = 0; i < words; ++i)
    collection.key_words.push_back(
        hidden_array(collection, "key " + std::to_string(i), element_dimensions(collection), item.position));
  collection.counter = hidden_array(collection, "dropped", collection.leading, item.position);
}

// ---------------------------------------------------------------- uses

/// Appends the key of map[key]: a number, or a structure whose fields become one index each.
void Analyser::push_key(Expression& key, Collection& collection, std::vector<ExpressionPtr>& indices) {
  const bool is_number = collection.key.size() == 1 && collection.key[0].name.empty();
  const Type type = is_number ? value(key) : expression(key);
  if (is_number) {
    require_integer(key, type, "the key");
    if (!context_.on_host()) collection.key[0].naming.note(key);
    indices.push_back(std::make_unique<Expression>(std::move(key)));
    return;
  }
  const Symbol* record = key.symbol;
  const bool is_record = type == Type::structure && record != nullptr;
  const bool fits = is_record && record->fields.size() == collection.key.size() &&
                    std::equal(record->fields.begin(), record->fields.end(), collection.key.begin(),
                               [&](const auto& field, const Collection::KeyField& part) {
                                 return field.first == part.name && field.second->type == part.type &&
                                        field.second->dimensions.size() == record->dimensions.size();
                               });
  if (!fits) {
    if (type != Type::none)
      error(key.position, "'" + collection.name + "' has a different key type",
            "pass a variable of the structure type named after 'by'");
    for (std::size_t i = 0; i < collection.key.size(); ++i) indices.push_back(std::make_unique<Expression>());
    return;
  }
  for (ExpressionPtr& field : fields_of(key, key.position)) indices.push_back(std::move(field));
}

/// Returns one expression for each field of a structure; empty after an error.
std::vector<ExpressionPtr> Analyser::fields_of(Expression& record, const Position& position) {
  std::vector<ExpressionPtr> values;
  if (std::any_of(record.operands.begin(), record.operands.end(),
                  [](const ExpressionPtr& index) { return has_effects(*index); })) {
    error(position, "this index would be evaluated once per field", "store it in a variable first");
    return values;
  }
  for_each_part(*record.symbol, [&](Symbol& field) {
    if (field.kind == Symbol::Kind::record) return;
    if (field.dimensions.size() != record.operands.size()) {
      return error(position, "'" + field.name + "' is an array, but a number is needed",
                   "access the fields one by one");
    }
    ExpressionPtr value = make_expression(kind_of_use(field), position);
    value->text = field.name;
    for (const ExpressionPtr& index : record.operands) value->operands.push_back(clone(*index));
    value->type = use(*value, &field);
    values.push_back(std::move(value));
  });
  return values;
}

bool Analyser::check_collection_use(const Expression& expression, const Symbol& symbol) {
  Collection* collection = symbol.collection;
  if (collection == nullptr || context_.on_host()) return true;
  collection->has_named_entries = true;
  if (collection->kind != Collection::Kind::histogram) return true;
  return fail(expression.position, "the bins of '" + collection->name + "' are accessible only in ON_REPORT",
              "write 'record(&" + collection->name + ", value)'");
}

/// `&accesses[i]`, or `accesses[i]` in a report ▶ the element of the counter array. Returns null after an
/// error.
Collection* Analyser::collection_argument(ExpressionPtr& argument, std::optional<Collection::Kind> kind,
                                          bool is_address, const ApiFunction& api) {
  const std::string what = kind ? "a " + name_of(*kind) : "a trace, a histogram or a map";
  const std::string hint =
      "write '" + std::string(api.name) + "(" + (is_address ? "&name, value" : "name") + ")'";
  const bool has_address = argument->kind == ExpressionKind::unary && argument->op == Operator::address_of;
  Expression& lvalue = has_address ? *argument->operands[0] : *argument;
  std::vector<ExpressionPtr*> indices;
  Expression* base = base_of(lvalue, indices);
  const Symbol* symbol = base->kind == ExpressionKind::name ? find(base->text) : nullptr;
  Collection* collection = symbol != nullptr ? symbol->collection : nullptr;
  if (collection == nullptr || (kind && collection->kind != *kind) || has_address != is_address) {
    const std::size_t before = errors.size();
    if (base->kind == ExpressionKind::name && symbol == nullptr) static_cast<void>(value(*base));
    if (errors.size() == before)
      error(lvalue.position, api.call() + " needs " + (is_address ? "the address of " : "") + what, hint);
    return nullptr;
  }
  const bool is_total = !is_address && indices.empty() && api.arguments == ApiArguments::collection;
  if (indices.size() != collection->leading.size() && !is_total)
    return fail(lvalue.position,
                "wrong number of indices for '" + collection->name + "': expected " +
                    std::to_string(collection->leading.size()) + ", have " + std::to_string(indices.size()),
                "write '" + collection->name + "[index]'");
  ExpressionPtr counter = make_expression(ExpressionKind::index, lvalue.position, Type::u64);
  counter->text = collection->name;
  counter->symbol = collection->counter;
  for (ExpressionPtr* index : indices) {
    if (!require_integer(**index, value(**index), "an index")) return nullptr;
    counter->operands.push_back(std::move(*index));
  }
  argument = std::move(counter);
  return collection;
}

/// append(&trace, value) or append(&trace, first field, second field, …) or append(&trace, structure)
Type Analyser::append_call(Expression& expression, const ApiFunction& api) {
  Collection* trace = collection_argument(expression.operands[0], Collection::Kind::trace, true, api);
  std::vector<ExpressionPtr> values;
  for (std::size_t i = 1; i < expression.operands.size(); ++i) {
    Expression& operand = *expression.operands[i];
    const Type type = this->expression(operand);
    if (type == Type::none) return Type::none;
    if (type == Type::structure && operand.symbol != nullptr) {
      for (ExpressionPtr& field : fields_of(operand, operand.position)) values.push_back(std::move(field));
    } else {
      if (!is_arithmetic(type)) return fail(operand.position, "the fields of a trace entry must be numbers");
      values.push_back(std::move(expression.operands[i]));
    }
  }
  if (trace == nullptr) return Type::none;
  if (values.size() != trace->leaves.size())
    return fail(expression.position, "wrong number of fields for an entry of '" + trace->name +
                                         "': expected " + std::to_string(trace->leaves.size()) + ", have " +
                                         std::to_string(values.size()));
  expression.operands.resize(1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    trace->namings[i].note(*values[i]);
    expression.operands.push_back(std::move(values[i]));
  }
  return api.result;
}

/// isKept(&trace, number)
Type Analyser::kept_call(Expression& expression, const ApiFunction& api) {
  const Collection* trace = collection_argument(expression.operands[0], Collection::Kind::trace, true, api);
  Expression& number = *expression.operands[1];
  const bool is_number = require_integer(number, value(number), "the number of an entry");
  return trace != nullptr && is_number ? api.result : Type::none;
}

/// record(&histogram, value) and record(&histogram, value, count)
Type Analyser::record_call(Expression& expression, const ApiFunction& api) {
  const Collection* histogram =
      collection_argument(expression.operands[0], Collection::Kind::histogram, true, api);
  for (std::size_t i = 1; i < expression.operands.size(); ++i) {
    Expression& operand = *expression.operands[i];
    const Type type = value(operand);
    if (!require_integer(operand, type, "a histogram")) return Type::none;
  }
  return histogram != nullptr ? api.result : Type::none;
}

/// length(), dropped(), underflow(), overflow(), binFrom(), binTo()
Type Analyser::collection_call(Expression& expression, const ApiFunction& api) {
  std::optional<Collection::Kind> kind;
  if (api.api != Api::length && api.api != Api::dropped) kind = Collection::Kind::histogram;
  if (api.arguments == ApiArguments::bin) {
    // The bins are the same for all leading indices, which may be omitted.
    Expression& bin = *expression.operands[1];
    const bool is_number = require_integer(bin, value(bin), "the number of a bin");
    const Expression& name = *expression.operands[0];
    Symbol* symbol = name.kind == ExpressionKind::name ? find(name.text) : nullptr;
    const bool is_histogram = symbol != nullptr && symbol->collection != nullptr &&
                              symbol->collection->kind == Collection::Kind::histogram;
    if (!is_histogram)
      error(name.position, api.call() + " needs a histogram",
            "write '" + std::string(api.name) + "(latency, 0)'");
    expression.symbol = symbol;
    return is_histogram && is_number ? api.result : Type::none;
  }
  const Collection* collection = collection_argument(expression.operands[0], kind, false, api);
  if (collection == nullptr) return Type::none;
  if (!kind && collection->kind == Collection::Kind::histogram)
    return fail(expression.operands[0]->position, api.call() + " needs a trace or a map",
                "a histogram has underflow() and overflow()");
  return api.result;
}

/// entryKey(map, i), entryValue(map, i), and with a structure field: entryKey(map, i).field.
Type Analyser::entry_call(Expression& expression, const ApiFunction& api, const std::string* field) {
  if (field != nullptr) {
    expression.api = &api;
    note_call(api, expression.position);
    if (!check_arguments(expression, api)) return Type::none;
  }
  const Collection* map = collection_argument(expression.operands[0], Collection::Kind::map, false, api);
  Expression& index = *expression.operands[1];
  const bool is_number = require_integer(index, value(index), "the number of an entry");
  if (map == nullptr || !is_number) return Type::none;
  std::vector<std::string> names;
  std::vector<Type> types;
  if (api.api == Api::entry_key) {
    for (const Collection::KeyField& part : map->key) names.push_back(part.name), types.push_back(part.type);
  } else {
    for (const Symbol* leaf : map->leaves)
      names.push_back(map->field_name(*leaf)), types.push_back(leaf->type);
  }
  const bool is_number_itself = names.size() == 1 && names[0].empty();
  if (field == nullptr && !is_number_itself) return Type::structure;
  const auto found = std::find(names.begin(), names.end(), field != nullptr ? *field : "");
  if (found == names.end())
    return fail(expression.position, "the entry of '" + map->name + "' has no field '" + *field + "'",
                suggestion(*field, names));
  const auto position = static_cast<std::size_t>(found - names.begin());
  expression.value = position;
  return types[position];
}

/// Returns the trace, histogram or map that is the argument of emit(); null if it is something else.
const Collection* Analyser::emitted_collection(Expression& argument) {
  Symbol* symbol = argument.kind == ExpressionKind::name ? find(argument.text) : nullptr;
  if (symbol == nullptr || symbol->collection == nullptr) return nullptr;
  static_cast<void>(use_launch_data(symbol->name, argument.position));
  argument.symbol = symbol;
  return symbol->collection;
}

}  // namespace lynxpp::cod
