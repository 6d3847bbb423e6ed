// Initial values of variables.
#include <algorithm>
#include <bit>
#include <cstring>

#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

std::uint64_t pattern_of(const Constant& value) {
  if (value.type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value.real));
  return value.type == Type::f64 ? std::bit_cast<std::uint64_t>(value.real) : value.integer;
}

}  // namespace

/// Stores a compile-time value of a table, a 'host' variable or a 'global' array.
void Analyser::store_constant(const Spread& each) {
  if (!analyse_alone(*each.value)) return;
  const auto constant = evaluate(*each.value);
  if (!constant) {
    const Symbol::Memory memory = each.leaf->memory;
    return error(each.value->position,
                 memory == Symbol::Memory::host
                     ? "the initialiser of a 'host' variable must be a compile-time constant"
                 : memory == Symbol::Memory::global
                     ? "the initialisers of a 'global' array must be compile-time constants"
                     : "the initialisers of a table must be compile-time constants");
  }
  std::uint64_t position = 0;
  for (std::size_t i = 0; i < each.indices.size(); ++i)
    position = position * each.leaf->dimensions[i].constant + each.indices[i];
  const std::uint32_t bytes = bytes_of(each.leaf->type);
  const std::uint64_t bits = pattern_of(convert(*constant, each.leaf->type));
  std::memcpy(address_of(*each.leaf, position), &bits, bytes);
}

/// The bytes that hold the element's initial value.
std::uint8_t* Analyser::address_of(const Symbol& leaf, std::uint64_t element) {
  const std::uint64_t begin = element * bytes_of(leaf.type);
  if (leaf.memory == Symbol::Memory::host) return program_.host_initial.data() + leaf.index + begin;
  if (leaf.memory != Symbol::Memory::global) return program_.variables[leaf.index].initial.data() + begin;
  std::vector<std::uint8_t>& initial = program_.arrays[leaf.index].initial;
  initial.resize(std::max<std::size_t>(initial.size(), begin + bytes_of(leaf.type)));
  return initial.data() + begin;
}

/// A list initialises the first elements, a single value all of them.
void Analyser::set_initial_values(Item& item, Symbol* symbol) {
  const auto has = [&](const auto& is_wanted) { return std::ranges::any_of(symbol->dimensions, is_wanted); };
  const bool is_of_words = has([](const Dimension& each) {
    return each.extent == Extent::shared_words || each.extent == Extent::device_words;
  });
  const bool is_open = has(
      [](const Dimension& each) { return each.extent != Extent::constant && each.extent != Extent::lanes; });
  if (is_of_words)
    return error(item.initial.position,
                 "an array with the extent SHARED_WORDS or DEVICE_WORDS cannot have an initialiser");
  if (item.initial.expression != nullptr) {
    if (symbol->kind == Symbol::Kind::record)
      return error(item.initial.position, "this value cannot initialise '" + item.name + "'",
                   "write a list in braces");
    store_constant({symbol, {}, std::move(item.initial.expression)});
    program_.arrays[symbol->index].fills = !program_.arrays[symbol->index].initial.empty();
    return;
  }
  if (is_open)
    return error(item.initial.position, "a list in braces needs an array with constant extents",
                 "one value without braces initialises every element");
  Declarator declarator;
  declarator.name = item.name;
  declarator.list = std::move(item.initial.list);
  for (Spread& each : spread_list(symbol, declarator)) store_constant(each);
}

std::vector<Analyser::Spread> Analyser::spread_list(Symbol* symbol, Declarator& declarator) {
  std::vector<Spread> result;
  if (declarator.list.empty()) return result;
  Cursor cursor{&declarator.list, 0};
  spread(symbol, {}, cursor, result);
  if (!cursor.ended())
    error(declarator.list[cursor.next].position,
          "'" + declarator.name + "' has more initialisers than elements");
  return result;
}

/// C's rules: a list in braces initialises one array or structure; without braces, its elements take values
/// from the enclosing list.
void Analyser::spread(Symbol* symbol, std::vector<std::uint64_t> indices, Cursor& cursor,
                      std::vector<Spread>& out) {
  const auto part = [&](Symbol* inner, std::vector<std::uint64_t> inner_indices) {
    if (cursor.ended()) return;
    Initializer& next = (*cursor.list)[cursor.next];
    if (next.expression != nullptr) return spread(inner, std::move(inner_indices), cursor, out);
    Cursor own{&next.list, 0};
    ++cursor.next;
    if (!next.list.empty()) spread(inner, std::move(inner_indices), own, out);
    if (!own.ended()) error(next.list[own.next].position, "this list has more values than elements");
  };
  if (indices.size() < symbol->dimensions.size()) {
    const std::uint64_t extent = symbol->dimensions[indices.size()].constant;
    indices.push_back(0);
    for (std::uint64_t i = 0; i < extent && !cursor.ended(); ++i) {
      indices.back() = i;
      part(symbol, indices);
    }
  } else if (symbol->kind == Symbol::Kind::record) {
    for (const auto& [name, field] : symbol->fields) part(field, indices);
  } else if (!cursor.ended()) {
    Initializer& next = (*cursor.list)[cursor.next++];
    if (next.expression == nullptr) {
      error(next.position, "expected one value here, not a list");
    } else {
      out.push_back({symbol, std::move(indices), std::move(next.expression)});
    }
  }
}

}  // namespace lynxpp::cod
