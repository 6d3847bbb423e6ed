// Hand-written parser for the statement shapes of compiled code, about thirty times as fast as the grammar.
// Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"
#include "ptx/parser/body_builder.h"

namespace lynxpp::ptx {

/// Accepts a statement only if the grammar (Ptx.g4) accepts the same text and gives it the same meaning;
/// reports no errors and leaves everything else, valid or not, to the grammar.
class StatementReader {
 public:
  /// Reads between the braces of `function`, whose opening brace is in line `line`. All arguments must
  /// outlive the reader.
  StatementReader(const Module& module, const Function& function, std::uint32_t line, BodyBuilder& builder);

  /// Skips white space and comments; returns true if nothing is left.
  bool at_end();
  /// Appends the next statement to the body. Returns false and changes nothing if the statement has another
  /// shape. Precondition: !at_end().
  bool read();

  std::uint32_t position() const { return position_; }
  std::uint32_t line() const { return line_; }
  /// Moves forward, past text that was parsed by other means.
  void move_to(std::uint32_t position);

 private:
  bool read_statement();
  bool read_single(std::uint32_t begin);
  bool read_directive(std::uint32_t begin);
  bool read_location(std::uint32_t begin);
  std::optional<SourcePosition> read_position();
  bool read_inlining(std::optional<SourcePosition>& inlined_at, std::string_view& function);
  bool read_pragma(std::uint32_t begin);
  bool read_registers(std::uint32_t begin);
  bool read_register_names(RegisterDeclaration declaration, std::vector<RegisterDeclaration>& declarations);
  bool read_variables(std::uint32_t begin, std::string_view first_word);
  bool read_label(std::uint32_t begin, std::string_view name);
  bool read_guarded(std::uint32_t begin);
  bool read_instruction(std::uint32_t begin, Instruction& instruction);

  bool read_operands(char closing, OperandList& operands);
  bool read_operand();
  bool read_group(OperandKind kind, char closing, bool vectors);
  bool read_value();
  bool read_addends(Operand& operand);
  bool read_number(Operand& operand);

  char peek() const { return position_ < end_ ? source_[position_] : '\0'; }
  void skip_space();
  bool skip_comment();
  bool accept(char c);
  std::string_view word();
  std::string_view directive();
  std::string_view digits();
  bool skip_string();
  void skip_segments(bool dots);
  std::string_view view(std::uint32_t begin) const { return source_.substr(begin, position_ - begin); }
  StatementLocation location(std::uint32_t begin) const { return {{begin, position_}, statement_line_}; }

  std::string_view source_;
  BodyBuilder& builder_;
  std::uint32_t position_;
  std::uint32_t end_;
  std::uint32_t line_;
  std::uint32_t statement_line_ = 0;
  std::vector<Operand> operands_;  // of the statement, innermost lists last
  bool is_call_ = false;
};

}  // namespace lynxpp::ptx
