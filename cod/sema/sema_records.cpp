// Arrays and structures. A structure becomes one symbol per field, and an array of structures one array per
// field. After semantic analysis only numbers and arrays of numbers remain.
#include <algorithm>

#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint64_t maximum_local_bytes = 16 * 1024;
constexpr std::uint64_t maximum_shared_bytes = 48 * 1024;
constexpr std::uint64_t maximum_table_bytes = 64 * 1024;
constexpr std::uint64_t maximum_host_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t maximum_leaves = 4096;
constexpr std::uint64_t maximum_copied = 256;      ///< elements of an array in a structure that `=` copies
constexpr std::size_t maximum_assignments = 4096;  ///< per copy
constexpr int maximum_structure_depth = 32;
constexpr std::size_t maximum_state = 128;  ///< registers per thread
constexpr std::uint64_t lanes = 32;

/// The product of constant extents, saturated at 2^40.
std::uint64_t count_of(const std::vector<Dimension>& dimensions) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 40;
  std::uint64_t count = 1;
  for (const Dimension& dimension : dimensions) {
    const std::uint64_t extent = dimension.extent == Extent::constant ? dimension.constant : 1;
    count = extent > limit / count ? limit : count * extent;
  }
  return count;
}

std::vector<ExpressionPtr> clones(const std::vector<ExpressionPtr>& expressions) {
  std::vector<ExpressionPtr> result;
  for (const ExpressionPtr& each : expressions) result.push_back(clone(*each));
  return result;
}

std::string with_article(Symbol::Memory memory) {
  switch (memory) {
    case Symbol::Memory::shared: return "a 'shared' array";
    case Symbol::Memory::local: return "a local array";
    case Symbol::Memory::host: return "a 'host' array";
    default: return "a table";
  }
}

}  // namespace

bool has_effects(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::assign: return true;
    case ExpressionKind::call: {
      const bool reads_lvalue =
          expression.api != nullptr && expression.api->arguments == ApiArguments::none &&
          expression.api->api != Api::clock_counter && expression.api->api != Api::global_timer;
      if (!reads_lvalue) return true;
      break;
    }
    default: break;
  }
  if (!expression.setup.empty()) return true;
  return std::any_of(expression.operands.begin(), expression.operands.end(),
                     [](const ExpressionPtr& operand) { return has_effects(*operand); });
}

// ---------------------------------------------------------------- declarations

std::optional<std::uint64_t> Analyser::constant_extent(Expression& expression, Memory memory) {
  Uses unused;
  const Context outer = context_;
  if (context_.uses == nullptr || context_.helper == nullptr) context_.uses = &unused;
  const auto constant =
      memory == Memory::global
          ? constant_integer(
                expression, "the extent of a 'global' array must be a named extent or a constant integer",
                "named extents are BASIC_BLOCKS, INSTRUCTIONS, BLOCKS, WARPS, THREADS, SMS and LANES")
          : constant_integer(expression, "the extent of this array must be a constant integer",
                             "WARPS_PER_BLOCK and THREADS_PER_BLOCK are the upper limits, 32 and 1024");
  context_ = outer;
  if (!constant) return std::nullopt;
  const bool is_negative = is_signed(constant->type) && static_cast<std::int64_t>(constant->integer) < 0;
  if (constant->integer == 0 || is_negative)
    return fail(expression.position, "an array needs at least one element");
  if (constant->integer > std::uint64_t{1} << 40)
    return fail(expression.position, "this array exceeds the memory of any device");
  return constant->integer;
}

/// The extent of `[]` is the number of initial values.
std::vector<Dimension> Analyser::dimensions_of(Memory memory, const std::string& name,
                                               const Position& position,
                                               const std::vector<ExpressionPtr>& extents,
                                               std::size_t initial_values) {
  std::vector<Dimension> dimensions;
  for (const ExpressionPtr& extent : extents) {
    const bool may_be_named =
        memory == Memory::global && extent != nullptr && extent->kind == ExpressionKind::name;
    if (const auto named = may_be_named ? find_extent(extent->text) : std::nullopt) {
      dimensions.push_back({*named, *named == Extent::lanes ? lanes : 1, extent->text});
      used_extents_.insert(*named);
      continue;
    }
    std::optional<std::uint64_t> constant;
    if (extent != nullptr) {
      constant = constant_extent(*extent, memory);
    } else if (dimensions.empty() && initial_values != 0) {
      constant = initial_values;
    } else {
      const bool is_item = memory == Memory::global || memory == Memory::shared;
      error(position, "the array '" + name + "' needs an extent",
            "write '" + name + "[8]'" + (is_item ? ", or initial values in braces" : ""));
    }
    // After an error any extent will do: uses of the array must not cause further errors.
    const std::uint64_t number = constant.value_or(1);
    dimensions.push_back({Extent::constant, number, std::to_string(number)});
  }
  return dimensions;
}

const Analyser::StructureInfo* Analyser::structure_info(const std::string& name, const Position& position,
                                                        int depth) {
  if (const auto known = structures_.find(name); known != structures_.end()) return &known->second;
  const auto& all = program_.tree.structures;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Structure& each) { return each.name == name; });
  if (found == all.end()) return nullptr;
  if (depth > maximum_structure_depth) return fail(position, "structures are nested too deeply here");
  StructureInfo info;
  info.structure = &*found;
  for (const Field& field : found->fields) {
    std::vector<Dimension>& dimensions = info.dimensions.emplace_back();
    for (const ExpressionPtr& extent : field.dimensions) {
      const auto constant = constant_extent(*extent, Memory::local);
      if (!constant) return nullptr;
      dimensions.push_back({Extent::constant, *constant, std::to_string(*constant)});
    }
    std::uint64_t bytes = bytes_of(field.type);
    std::uint64_t alignment = bytes;
    std::uint64_t leaves = 1;
    if (field.type == Type::structure) {
      const StructureInfo* inner = structure_info(field.structure, field.position, depth + 1);
      if (inner == nullptr) return nullptr;
      bytes = inner->bytes;
      alignment = inner->alignment;
      leaves = inner->leaves;
    }
    info.leaves += leaves;
    info.alignment = std::max(info.alignment, alignment);
    info.bytes = (info.bytes + alignment - 1) / alignment * alignment + bytes * count_of(dimensions);
    if (info.leaves > maximum_leaves || info.bytes > std::uint64_t{1} << 40)
      return fail(found->position, "this structure is too large");
  }
  info.bytes = (info.bytes + info.alignment - 1) / info.alignment * info.alignment;
  return &structures_.emplace(name, std::move(info)).first->second;
}

bool Analyser::check_size(Memory memory, const Variable& variable) {
  std::uint64_t limit = 0;
  std::uint64_t bytes = bytes_of(variable.type) * count_of(variable.dimensions);
  switch (memory) {
    case Memory::local: limit = maximum_local_bytes; break;
    case Memory::table: limit = maximum_table_bytes; break;
    case Memory::thread:
      if (program_.state.size() + count_of(variable.dimensions) <= maximum_state) return true;
      return fail(variable.position, "too many per-thread variables",
                  "each element is a register; at most " + std::to_string(maximum_state) + " are allowed");
    case Memory::host:
      limit = maximum_host_bytes;
      bytes += program_.host_initial.size();
      break;
    case Memory::shared:
      limit = maximum_shared_bytes;
      for (const ModuleVariable& each : program_.variables) bytes += each.is_shared ? each.bytes : 0;
      break;
    default: return true;
  }
  if (bytes <= limit) return true;
  return fail(variable.position,
              with_article(memory) + " of " + std::to_string(bytes) + " bytes is too large",
              std::to_string(limit) + " bytes is the limit" +
                  (memory == Memory::shared ? "for all 'shared' arrays together" : "") +
                  "; 'global' arrays may be larger");
}

/// Adds the symbol to the scope; never null.
Symbol* Analyser::declare_variable(Memory memory, const Variable& variable) {
  Symbol* symbol = make_variable(memory, variable);
  add_to_scope(symbol);
  return symbol;
}

Symbol* Analyser::make_variable(Memory memory, const Variable& variable) {
  const auto declare = [&](const auto& self, const Variable& each) -> Symbol* {
    if (each.type != Type::structure) return declare_leaf(memory, each);
    Symbol* record = new_symbol(Symbol::Kind::record, each.name, Type::structure, each.position);
    record->structure = each.structure;
    record->is_const = memory == Memory::table;
    record->dimensions = each.dimensions;
    const StructureInfo* info = structure_info(each.structure, each.position);
    if (info == nullptr) return record;
    for (std::size_t i = 0; i < info->structure->fields.size(); ++i) {
      const Field& field = info->structure->fields[i];
      Variable inner{each.name + "." + field.name, field.type, field.structure, each.dimensions,
                     each.position};
      inner.dimensions.insert(inner.dimensions.end(), info->dimensions[i].begin(), info->dimensions[i].end());
      record->fields.emplace_back(field.name, self(self, inner));
    }
    return record;
  };
  if (variable.type == Type::structure) {
    const StructureInfo* info = structure_info(variable.structure, variable.position);
    leaves_ += info != nullptr ? info->leaves : 0;
  } else {
    ++leaves_;
  }
  if (leaves_ <= maximum_leaves) return declare(declare, variable);
  error(variable.position, "the specification has too many variables");
  return new_symbol(Symbol::Kind::record, variable.name, Type::structure, variable.position);
}

Symbol* Analyser::hidden_record(const std::string& structure, const Position& position) {
  return make_variable(Memory::local, {"", Type::structure, structure, {}, position});
}

Symbol* Analyser::declare_leaf(Memory memory, const Variable& variable) {
  const bool is_scalar = variable.dimensions.empty() && (memory == Memory::thread || memory == Memory::local);
  const Symbol::Kind scalar_kind = memory == Memory::thread ? Symbol::Kind::state : Symbol::Kind::local;
  Symbol* symbol = new_symbol(is_scalar ? scalar_kind : Symbol::Kind::array, variable.name, variable.type,
                              variable.position);
  symbol->dimensions = variable.dimensions;
  if (!is_arithmetic(variable.type)) {
    error(variable.position, "an array cannot have elements of type 'void'",
          "for example, write 'global unsigned long " + variable.name + "[THREADS];'");
    symbol->type = Type::none;
  }
  if (!is_scalar) program_.checks_bounds = true;
  if (!check_size(memory, variable)) return symbol;
  symbol->memory = memory;
  const std::uint64_t count = count_of(variable.dimensions);
  const std::uint64_t bytes = bytes_of(variable.type) * count;
  switch (memory) {
    case Memory::thread:
      symbol->index = static_cast<std::uint32_t>(program_.state.size());
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::string element = is_scalar ? "" : "[" + std::to_string(i) + "]";
        program_.state.push_back({variable.name + element, storage_of(variable.type)});
      }
      break;
    case Memory::indirect: break;
    case Memory::local: symbol->assignments = 1; break;
    case Memory::global:
      symbol->index = static_cast<std::uint32_t>(program_.arrays.size());
      program_.arrays.push_back({variable.name, storage_of(variable.type), variable.dimensions});
      break;
    case Memory::host:
      symbol->index = static_cast<std::uint32_t>(program_.host_initial.size());
      // Each starts at a multiple of 8 bytes.
      program_.host_initial.resize((symbol->index + bytes + 7) / 8 * 8);
      break;
    case Memory::shared:
    case Memory::table:
      symbol->is_const = memory == Memory::table;
      symbol->index = static_cast<std::uint32_t>(program_.variables.size());
      program_.variables.push_back({variable.name, memory == Memory::shared, bytes, {}});
      if (memory == Memory::table) program_.variables.back().initial.resize(bytes);
      break;
  }
  return symbol;
}

Symbol* Analyser::declare_with_dimensions(Memory memory, const Statement& statement, Declarator& declarator) {
  const std::size_t before = errors.size();
  std::vector<Dimension> dimensions = dimensions_of(memory, declarator.name, declarator.position,
                                                    declarator.dimensions, declarator.list.size());
  declarator.symbol = declare_variable(memory, {declarator.name, statement.type, statement.structure,
                                                std::move(dimensions), declarator.position});
  return errors.size() == before ? declarator.symbol : nullptr;
}

/// An array or structure of a handler. It is zeroed, then its initialiser is assigned.
void Analyser::declare_local(Statement& statement, Declarator& declarator) {
  Symbol* symbol = declare_with_dimensions(Memory::local, statement, declarator);
  if (symbol == nullptr) return;
  if (declarator.initializer != nullptr) {
    if (symbol->kind != Symbol::Kind::record || !symbol->dimensions.empty()) {
      return error(declarator.initializer->position, "this value cannot initialise '" + declarator.name + "'",
                   "write a list in braces");
    }
    ExpressionPtr copy = record_value(symbol, *declarator.initializer);
    if (copy != nullptr) declarator.assignments.push_back(std::move(copy));
    declarator.initializer = nullptr;
  } else {
    assign_list(symbol, declarator, declarator.assignments);
  }
  if (statement.is_const) set_const(*symbol);
}

/// Appends one assignment for each value of the list.
void Analyser::assign_list(Symbol* symbol, Declarator& declarator, std::vector<ExpressionPtr>& out) {
  for (Spread& each : spread_list(symbol, declarator)) {
    const std::size_t before = errors.size();
    convertible(*each.value, value(*each.value), each.leaf->type);
    if (errors.size() != before) return;
    std::vector<ExpressionPtr> indices;
    for (const std::uint64_t index : each.indices) indices.push_back(make_integer(index));
    const Position position = each.value->position;
    out.push_back(assign_leaf(each.leaf, std::move(indices), std::move(each.value), position));
  }
}

/// A constant array or structure at file scope.
void Analyser::declare_table(Statement& statement, Declarator& declarator) {
  Symbol* symbol = declare_with_dimensions(Memory::table, statement, declarator);
  if (symbol == nullptr) return;
  if (!declarator.has_list) {
    return error(declarator.position, "the table '" + declarator.name + "' has no initialiser",
                 "add '= { ... }'");
  }
  for (Spread& each : spread_list(symbol, declarator)) store_constant(each);
}

// ---------------------------------------------------------------- copies

/// Returns an analysed assignment of a scalar.
ExpressionPtr Analyser::assign_leaf(Symbol* leaf, std::vector<ExpressionPtr> indices, ExpressionPtr value,
                                    const Position& position) {
  ExpressionPtr target = make_expression(kind_of_use(*leaf), position, leaf->type);
  target->text = leaf->name;
  target->symbol = leaf;
  target->operands = std::move(indices);
  if (leaf->kind == Symbol::Kind::local) ++leaf->assignments;
  leaf->is_set = true;
  leaf->changes |= Symbol::changed_otherwise;
  const bool is_state = leaf->kind == Symbol::Kind::state || leaf->memory == Symbol::Memory::thread;
  if (is_state) context_.uses->states.emplace_back(leaf, position);
  ExpressionPtr result = make_expression(ExpressionKind::assign, position, leaf->type);
  result->discarded = true;
  result->operands.push_back(std::move(target));
  result->operands.push_back(std::move(value));
  context_.uses->nodes += 3;
  return result;
}

/// Appends one assignment for each field; false after an error.
bool Analyser::copy_record(Symbol* target, const Expression& target_lvalue, Symbol* source,
                           const Expression& source_lvalue, std::vector<ExpressionPtr>& out) {
  const Position& position = target_lvalue.position;
  for (std::size_t i = 0; i < target->fields.size(); ++i) {
    Symbol* to = target->fields[i].second;
    Symbol* from = source->fields[i].second;
    if (to->kind == Symbol::Kind::record && to->dimensions.size() == target->dimensions.size()) {
      if (!copy_record(to, target_lvalue, from, source_lvalue, out)) return false;
      continue;
    }
    const std::vector<Dimension> own(
        to->dimensions.begin() + static_cast<std::ptrdiff_t>(target->dimensions.size()),
        to->dimensions.end());
    if (count_of(own) > maximum_copied || out.size() > maximum_assignments)
      return fail(position, "'=' cannot copy the array '" + to->name + "'", "copy its elements in a loop");
    for (std::uint64_t k = 0; k < count_of(own); ++k) {
      std::vector<std::uint64_t> own_indices(own.size());
      std::uint64_t rest = k;
      for (std::size_t d = own.size(); d-- > 0; rest /= own[d].constant)
        own_indices[d] = rest % own[d].constant;
      const auto element_of = [&](const Expression& lvalue) {
        Expression element;
        element.position = lvalue.position;
        element.operands = clones(lvalue.operands);
        for (const std::uint64_t index : own_indices) element.operands.push_back(make_integer(index));
        return element;
      };
      Expression target_element = element_of(target_lvalue);
      if (to->kind == Symbol::Kind::record) {
        if (!copy_record(to, target_element, from, element_of(source_lvalue), out)) return false;
        continue;
      }
      auto value = std::make_unique<Expression>(element_of(source_lvalue));
      value->kind = kind_of_use(*from);
      value->text = from->name;
      value->type = use(*value, from);
      if (value->type == Type::none) return false;
      out.push_back(assign_leaf(to, std::move(target_element.operands), std::move(value), position));
    }
  }
  return true;
}

/// Expands `a = b` for structures into assignments of their fields.
Type Analyser::assign_record(Expression& expression) {
  Expression& target = *expression.operands[0];
  Expression& source = *expression.operands[1];
  const Type type = this->expression(source);
  if (type == Type::none) return Type::none;
  if (type != Type::structure || source.structure != target.structure || expression.op != Operator::none)
    return fail(expression.position, "a structure can only be assigned a structure of the same type",
                "assign its fields");
  if (!check_target(target)) return Type::none;
  std::vector<ExpressionPtr> assignments;
  if (!copy_whole(target, source, assignments)) return Type::none;
  expression.kind = ExpressionKind::comma;
  expression.operands = std::move(assignments);
  return Type::nothing;
}

/// Side effects of indices and pointers are evaluated once, before the fields are copied.
bool Analyser::copy_whole(Expression& target, Expression& source, std::vector<ExpressionPtr>& out) {
  for (Expression* lvalue : {&target, &source}) {
    for (ExpressionPtr& each : lvalue->setup) out.push_back(std::move(each));
    lvalue->setup.clear();
    hoist_effects(*lvalue, out);
  }
  return copy_record(target.symbol, target, source.symbol, source, out);
}

void Analyser::hoist_effects(Expression& lvalue, std::vector<ExpressionPtr>& out) {
  for (ExpressionPtr& index : lvalue.operands) {
    if (!has_effects(*index)) continue;
    Symbol* kept = new_symbol(Symbol::Kind::local, "", index->type, index->position);
    ExpressionPtr name = make_expression(ExpressionKind::name, index->position, index->type);
    name->symbol = kept;
    const Position position = index->position;
    out.push_back(assign_leaf(kept, {}, std::move(index), position));
    index = std::move(name);
  }
}

ExpressionPtr Analyser::record_value(Symbol* target, Expression& source) {
  const Type type = expression(source);
  if (type == Type::none) return nullptr;
  if (type == Type::structure && source.structure == target->structure) return record_copy(target, source);
  return fail(source.position, "a 'struct " + target->structure + "' is required here",
              "pass a variable of that type, or a call that returns one");
}

/// Returns an access to a whole variable without dimensions.
ExpressionPtr Analyser::record_lvalue(Symbol* record, const Position& position) {
  ExpressionPtr lvalue = make_expression(ExpressionKind::index, position, Type::structure);
  lvalue->structure = record->structure;
  lvalue->symbol = record;
  return lvalue;
}

ExpressionPtr Analyser::record_copy(Symbol* target, Expression& source) {
  const ExpressionPtr lvalue = record_lvalue(target, source.position);
  ExpressionPtr result = make_expression(ExpressionKind::comma, source.position, Type::nothing);
  return copy_whole(*lvalue, source, result->operands) ? std::move(result) : nullptr;
}

}  // namespace lynxpp::cod
