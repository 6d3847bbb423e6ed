#include "ptx/parser/declaration.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "ptx/parser/constant_expression.h"
#include "ptx/parser/literal.h"

namespace lynxpp::ptx {
namespace {

/// Limits an array to 2^56 elements: its size in bytes then fits 64 bits for every type.
bool multiply_elements(Variable& variable, std::uint64_t extent) {
  return !__builtin_mul_overflow(variable.elements, extent, &variable.elements) &&
         variable.elements >> 56 == 0;
}

/// Consumes all consecutive `[extent]`.
void parse_extents(Cursor& cursor, Declarator& declarator) {
  Variable& variable = declarator.variable;
  const std::uint32_t begin = cursor.position();
  while (cursor.accept('[')) {
    variable.is_array = true;
    std::uint64_t extent = 0;
    if (!cursor.accept(']')) {
      const std::uint32_t place = cursor.position();
      const auto value = integer_expression(cursor);
      if (value && *value < 0) cursor.fail_at(place, "an array extent is negative");
      if (!value || !cursor.expect(']', "after an array extent")) return;
      extent = static_cast<std::uint64_t>(*value);
    }
    if (!multiply_elements(variable, extent)) {
      cursor.fail_at(begin, "the array '" + variable.name + "' is too large");
      return;
    }
    declarator.extents.push_back(extent);
  }
}

/// Gives the array `name[] = {…}` the extent of its initialiser. Returns false if it is too large.
bool complete_open_extent(std::string_view text, Declarator& declarator) {
  Variable& variable = declarator.variable;
  Cursor cursor(text, variable.initializer.begin, variable.initializer.end);
  if (!cursor.accept('{') || cursor.peek() == '}') return true;
  std::uint64_t count = 1;
  while (cursor.skip_to(",}") && cursor.accept(',')) {
    if (cursor.peek() != '}') ++count;
  }
  declarator.extents[0] = count;
  variable.elements = 1;
  return std::ranges::all_of(declarator.extents,
                             [&](std::uint64_t extent) { return multiply_elements(variable, extent); });
}

bool parse_alignment(Cursor& cursor, std::uint32_t& alignment) {
  const std::uint32_t place = cursor.position();
  const auto value = cursor.integer();
  if (cursor.failed()) return false;
  if (!value || *value == 0 || (*value & (*value - 1)) != 0 || *value > 0x10000000) {
    cursor.fail_at(place, "an alignment must be a power of two");
    return false;
  }
  alignment = static_cast<std::uint32_t>(*value);
  return true;
}

/// Parses everything between linkage and name: state space, alignment, vector, type, attributes.
Variable parse_specifiers(Cursor& cursor) {
  Variable variable;
  variable.alignment = 0;
  bool pointee = false;  // specifiers after .ptr describe the memory pointed to
  while (!cursor.failed()) {
    const std::string_view directive = cursor.directive();
    if (directive.empty()) break;
    std::uint32_t alignment = 0;
    if (directive == ".align") {
      if (!parse_alignment(cursor, alignment)) break;
      if (!pointee) variable.alignment = alignment;
    } else if (directive == ".ptr") {
      pointee = true;
    } else if (directive == ".attribute") {
      if (cursor.peek() == '(') cursor.skip_group();
    } else if (directive == ".v2" || directive == ".v4" || directive == ".v8") {
      variable.vector = static_cast<std::uint32_t>(directive[2] - '0');
    } else if (const StateSpace space = space_of_directive(directive); space != StateSpace::none) {
      if (!pointee) variable.space = space;
      // .const[2]: a bank, before PTX 2.2
      if (space == StateSpace::constant && cursor.accept('[') && cursor.integer())
        cursor.expect(']', "after a bank");
    } else {
      const DataType type = parse_data_type(directive);
      variable.type = type == DataType::none ? DataType::opaque : type;
      variable.type_text = std::string(directive);
    }
  }
  return variable;
}

void complete_alignment(Variable& variable) {
  if (variable.alignment == 0) variable.alignment = std::max(1U, size_of(variable.type) * variable.vector);
}

/// Parses the name and the parts of the declaration that apply to it alone.
Declarator parse_declarator(Cursor& cursor, const Variable& specifiers) {
  Declarator declarator{specifiers, {}};
  Variable& variable = declarator.variable;
  variable.name = std::string(cursor.identifier());
  if (variable.name.empty()) {
    cursor.fail("expected a name instead of " + cursor.describe_next());
    return declarator;
  }
  complete_alignment(variable);
  parse_extents(cursor, declarator);
  if (!cursor.failed() && cursor.accept('=')) {
    const std::uint32_t begin = cursor.position();
    if (!cursor.skip_to(",;"))
      cursor.fail_at(begin, "the initialiser of '" + variable.name + "' is not terminated",
                     "end it with ';'");
    if (cursor.failed()) return declarator;
    variable.has_initializer = true;
    variable.initializer = {begin, std::max(begin, cursor.end_of_last())};
    if (!declarator.extents.empty() && declarator.extents[0] == 0 &&
        !complete_open_extent(cursor.text(), declarator))
      cursor.fail_at(begin, "the array '" + variable.name + "' is too large");
  }
  return declarator;
}

}  // namespace

StateSpace space_of_directive(std::string_view directive) {
  if (directive == ".reg") return StateSpace::reg;
  if (directive == ".sreg") return StateSpace::sreg;
  if (directive == ".const") return StateSpace::constant;
  if (directive == ".global") return StateSpace::global;
  if (directive == ".local") return StateSpace::local;
  if (directive == ".param") return StateSpace::param;
  if (directive == ".shared") return StateSpace::shared;
  if (directive == ".tex") return StateSpace::texture;
  return StateSpace::none;
}

Linkage parse_linkage(Cursor& cursor) {
  Linkage linkage;
  while (true) {
    if (cursor.accept_directive(".extern")) {
      linkage.is_extern = true;
    } else if (cursor.accept_directive(".visible")) {
      linkage.is_visible = true;
    } else if (cursor.accept_directive(".weak") || cursor.accept_directive(".common")) {
      linkage.is_weak = true;
    } else {
      return linkage;
    }
  }
}

std::vector<Declarator> parse_variable_declaration(Cursor& cursor, const Linkage& linkage,
                                                   std::uint32_t begin) {
  Variable specifiers = parse_specifiers(cursor);
  specifiers.is_extern = linkage.is_extern;
  specifiers.is_visible = linkage.is_visible;
  specifiers.is_weak = linkage.is_weak;
  std::vector<Declarator> declarators;
  if (!cursor.failed() && specifiers.type == DataType::none) {
    cursor.fail("expected a type instead of " + cursor.describe_next());
  }
  do {
    if (cursor.failed()) return declarators;
    declarators.push_back(parse_declarator(cursor, specifiers));
  } while (cursor.accept(','));
  if (!cursor.failed()) cursor.expect(';', "after a declaration");
  for (Declarator& declarator : declarators) declarator.variable.text = {begin, cursor.end_of_last()};
  return declarators;
}

void apply_register_directive(RegisterDeclaration& declaration, std::string_view directive) {
  if (directive == ".v2" || directive == ".v4" || directive == ".v8") {
    declaration.vector = static_cast<std::uint32_t>(directive[2] - '0');
  } else {
    const DataType type = parse_data_type(directive);
    declaration.type = type == DataType::none ? DataType::opaque : type;
  }
}

std::optional<std::uint32_t> parse_register_count(std::string_view literal) {
  const auto count = parse_integer_literal(literal);
  if (!count || *count == 0 || *count > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*count);
}

std::vector<Variable> parse_parameter_list(Cursor& cursor) {
  std::vector<Variable> parameters;
  cursor.expect('(', "before parameters");
  if (cursor.failed() || cursor.accept(')')) return parameters;
  do {
    const std::uint32_t begin = cursor.position();
    const Variable specifiers = parse_specifiers(cursor);
    if (!cursor.failed() && (specifiers.space == StateSpace::none || specifiers.type == DataType::none)) {
      cursor.fail_at(begin, "a parameter needs a state space and a type", "for example '.param .u64 name'");
    }
    if (cursor.failed()) return parameters;
    Declarator declarator = parse_declarator(cursor, specifiers);
    declarator.variable.text = {begin, cursor.end_of_last()};
    parameters.push_back(std::move(declarator.variable));
  } while (cursor.accept(','));
  if (!cursor.failed()) cursor.expect(')', "after parameters");
  return parameters;
}

}  // namespace lynxpp::ptx
