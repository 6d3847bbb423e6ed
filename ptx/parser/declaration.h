// Declarations of variables and parameters, at module level, in parameter lists and inside bodies.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"
#include "ptx/parser/cursor.h"

namespace lynxpp::ptx {

struct Linkage {
  bool is_extern = false;
  bool is_visible = false;
  bool is_weak = false;
};

/// Consumes all consecutive .extern, .visible, .weak and .common.
Linkage parse_linkage(Cursor& cursor);

/// ".global" ▶ StateSpace::global; none if it is not a state space.
StateSpace space_of_directive(std::string_view directive);

struct Declarator {
  Variable variable;
  std::vector<std::uint64_t> extents;  ///< as written; 0 for `[]`
};

/// Parses from the state space to the semicolon; `begin` is the beginning of the declaration's text (its
/// linkage). Returns one declarator per name, all with the text of the whole declaration. Check
/// cursor.failed().
std::vector<Declarator> parse_variable_declaration(Cursor& cursor, const Linkage& linkage,
                                                   std::uint32_t begin);

/// Applies the `.v4` or the type of `.reg .v4 .f32 v;` to the declaration.
void apply_register_directive(RegisterDeclaration& declaration, std::string_view directive);

/// Parses the `9` of `%r<9>`; nullopt if it is not a valid count for a register range.
std::optional<std::uint32_t> parse_register_count(std::string_view literal);

/// Parses `( … )` with parameters separated by commas. Check cursor.failed().
std::vector<Variable> parse_parameter_list(Cursor& cursor);

}  // namespace lynxpp::ptx
