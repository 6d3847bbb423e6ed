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

/// Takes .extern, .visible, .weak and .common, as far as they are next.
Linkage parse_linkage(Cursor& cursor);

/// ".global" ▶ StateSpace::global; none when it names no state space.
StateSpace space_of_directive(std::string_view directive);

struct Declarator {
  Variable variable;
  std::vector<std::uint64_t> extents;  ///< as written; 0 for `[]`
};

/// Parses from the state space to the semicolon; `begin` is where the declaration's text starts (its
/// linkage). One declarator per name, all with the text of the whole declaration. Check cursor.failed().
std::vector<Declarator> parse_variable_declaration(Cursor& cursor, const Linkage& linkage,
                                                   std::uint32_t begin);

/// Takes `.v4` or a type of `.reg .v4 .f32 v;` into the declaration.
void apply_register_directive(RegisterDeclaration& declaration, std::string_view directive);

/// The `9` of `%r<9>`; nullopt when it is no count a register range can have.
std::optional<std::uint32_t> parse_register_count(std::string_view literal);

/// Parses `( … )` with parameters separated by commas. Check cursor.failed().
std::vector<Variable> parse_parameter_list(Cursor& cursor);

}  // namespace lynxpp::ptx
