// A function's body while it is parsed: statements are appended in textual order. Inside this folder only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ptx/ir/module.h"
#include "ptx/parser/declaration.h"

namespace lynxpp::ptx {

/// Where a statement stands.
struct Place {
  TextRange text;
  std::uint32_t line = 0;  ///< of its first token
};

struct SourcePosition {
  std::uint32_t file = 0, line = 0, column = 0;
  auto operator<=>(const SourcePosition&) const = default;
};

/// Keeps track of the scope and of the `.loc` in force. Both ways to parse a statement (statement_reader.h,
/// grammar_parser.h) end here, so they cannot differ in what a statement of one shape means.
class BodyBuilder {
 public:
  /// `body` gets scope 0; it, the function and the module must outlive the builder.
  BodyBuilder(Body& body, const Function& function, const Module& module);

  /// What has no fields of its own: label, directive.
  void add_statement(StatementKind kind, Place place, std::string_view name);
  void begin_scope(Place place);
  /// False, and nothing happens, when no scope is open.
  bool end_scope(Place place);
  /// Sets instruction.text, line, statement, traits and source line; guard, opcode and operands are there
  /// already.
  void add_instruction(Place place, Instruction instruction);
  /// One declaration of some registers; their scope is set here.
  void add_registers(Place place, std::vector<RegisterDeclaration> declarations);
  void add_variables(Place place, std::vector<Declarator> declarators, std::string_view first_word);
  /// `.branchtargets` or `.calltargets`.
  void add_targets(Place place, TargetList list, bool branches);
  void add_prototype(Place place, std::string_view name);
  /// `inlined_at`: for code of an inlined function, the position of the call.
  void add_location(Place place, SourcePosition at, std::optional<SourcePosition> inlined_at);

  /// The variable of the body or the function's parameter that `name` means here; null when there is none.
  const Variable* find_variable(std::string_view name) const;

  /// The register of the body that `name` means here; null when it is none.
  const RegisterDeclaration* find_register(std::string_view name) const {
    return body_.find_register(name, scope_);
  }

  OperandList keep(std::span<const Operand> operands) { return body_.operand_pool->add(operands); }
  std::string_view keep_opcode(std::string opcode, TextRange spelled) {
    return body_.operand_pool->add_opcode(std::move(opcode), spelled);
  }

  /// Closes scope 0 and indexes the names.
  void finish();

 private:
  void add_register_parameters(const std::vector<Variable>& parameters);
  bool is_register_called(const Instruction& call) const;
  std::uint32_t call_site_of(SourcePosition inlined_at);
  bool is_in_library(std::uint32_t file);

  Body& body_;
  const Function& function_;
  const Module& module_;
  std::uint32_t scope_ = 0;
  CallSite position_;                                ///< of the next instructions
  std::map<SourcePosition, std::uint32_t> inlined_;  ///< call site of the last `.loc` of each position
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> known_call_sites_;
  std::unordered_map<std::uint32_t, bool> library_files_;
  std::unordered_map<std::string_view, OpcodeTraits> traits_;  // a body has few opcodes, each many times
};

}  // namespace lynxpp::ptx
