// A function's body during parsing: statements are appended in textual order. Private to this folder.
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

/// A statement's text range and line.
struct StatementLocation {
  TextRange text;
  std::uint32_t line = 0;  ///< line of its first token
};

struct SourcePosition {
  std::uint32_t file = 0, line = 0, column = 0;
  auto operator<=>(const SourcePosition&) const = default;
};

/// Tracks the scope and the current `.loc`. Both statement parsers (statement_reader.h, grammar_parser.h)
/// append through this class, so they give statements of one shape the same meaning.
class BodyBuilder {
 public:
  /// Adds scope 0 to `body`, which, like the function and the module, must outlive the builder.
  BodyBuilder(Body& body, const Function& function, const Module& module);

  /// Adds a statement without fields of its own: a label or directive.
  void add_statement(StatementKind kind, StatementLocation location, std::string_view name);
  void begin_scope(StatementLocation location);
  /// Returns false and does nothing if no scope is open.
  bool end_scope(StatementLocation location);
  /// Decodes an opcode, which must outlive the builder.
  const OpcodeTraits& traits_of(std::string_view opcode);
  /// Adds an instruction whose guard, opcode, traits and operands are set; sets its text, line, statement and
  /// source line.
  void add_instruction(StatementLocation location, const Instruction& parsed);
  /// Adds one declaration statement of several registers; sets their scope.
  void add_registers(StatementLocation location, std::vector<RegisterDeclaration> declarations);
  void add_variables(StatementLocation location, std::vector<Declarator> declarators,
                     std::string_view first_word);
  /// Adds `.branchtargets` or `.calltargets`.
  void add_targets(StatementLocation location, TargetList list, bool branches);
  void add_prototype(StatementLocation location, std::string_view name);
  /// For inlined code, `inlined_at` is the position of the call, and `function` the label of the inlined
  /// function's name, if known.
  void add_location(StatementLocation location, SourcePosition at, std::optional<SourcePosition> inlined_at,
                    std::string_view function);

  /// The variable of the body or parameter of the function that `name` refers to; null if it is neither.
  const Variable* find_variable(std::string_view name) const;

  /// The register of the body that `name` refers to; null if it is not a register.
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
  std::uint32_t call_site_of(SourcePosition inlined_at, std::string_view function);
  bool is_in_library(std::uint32_t file);

  Body& body_;
  const Function& function_;
  const Module& module_;
  std::uint32_t scope_ = 0;
  bool from_library_ = false;                        ///< likewise: Instruction::from_library
  CallSite position_;                                ///< of the following instructions
  std::map<SourcePosition, std::uint32_t> inlined_;  ///< call site of the last `.loc` of each position
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::string_view>, std::uint32_t>
      known_call_sites_;
  std::unordered_map<std::uint32_t, bool> library_files_;
  std::unordered_map<std::string_view, OpcodeTraits> traits_;  // a body repeats few distinct opcodes
};

}  // namespace lynxpp::ptx
