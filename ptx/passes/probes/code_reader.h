// Imports the body of a separately compiled function as code: a handler, or a function that handlers call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Returns "{space} .align 8 .b8 name[16]" with another name. Fails if the variable is neither a parameter
/// nor in local memory.
Result<std::string> declaration_of(const Variable& variable, const std::string& name);

/// Reads one body. Registers and labels are numbered in order of occurrence. `call.uni` becomes `call`,
/// because LLVM always emits it, even where lanes may have diverged.
class CodeReader {
 public:
  /// The replacement of a name, and a constant added to it.
  struct Renamed {
    CodeOperand operand;
    std::int64_t offset = 0;
  };
  /// Called for each name that is not a label. nullopt: a register is numbered, other names are kept.
  using Renaming = std::function<std::optional<Renamed>(std::string_view)>;

  /// Requires a parsed body. All references must outlive the reader.
  CodeReader(const Module& module, const Body& body, NameSource& names, Renaming renaming);

  /// Omits variables in local memory, which are declared elsewhere.
  void leave_local_memory_out() { leaves_local_memory_out_ = true; }

  /// Reads the body, calling `read_instruction` for each instruction. Fails if it contains something that
  /// cannot be moved into other code, such as a jump table.
  Status read_all(const std::function<Status(const Instruction&)>& read_instruction, CodeBuilder& code);
  Status read(const Instruction& instruction, CodeBuilder& code);
  Result<CodeOperand> operand(const Operand& operand, std::uint32_t scope);
  std::optional<CodePredicate> guard(const Instruction& instruction);

  std::uint32_t scope_of(const Instruction& instruction) const {
    return body_.statements[instruction.statement].scope;
  }

 private:
  Status declare(std::uint32_t scope, CodeBuilder& code);
  bool declares(const Variable& variable, std::uint32_t scope) const;
  Result<CodeOperand> named(const Operand& operand, std::uint32_t scope);
  Result<CodeOperand> address(const Operand& operand, std::uint32_t scope);
  Result<CodeOperand> list(CodeList::Kind kind, const Operand& operand, std::uint32_t scope);
  /// nullopt: not a label.
  std::optional<Label> label_of(std::string_view name);
  /// nullopt: not a register, or one that code cannot contain.
  std::optional<VirtualRegister> register_of(std::string_view name, std::uint32_t scope);
  Name text_of(const Operand& operand) const { return {std::string(module_.text(operand.text))}; }
  Failure refuse(const Operand& operand) const;

  const Module& module_;
  const Body& body_;
  NameSource& names_;
  const Renaming renaming_;
  bool leaves_local_memory_out_ = false;
  std::map<std::string_view, std::optional<Label>> labels_;  ///< labels of the body
  std::map<std::pair<const RegisterDeclaration*, std::string_view>, VirtualRegister> registers_;
};

}  // namespace lynxpp::ptx
