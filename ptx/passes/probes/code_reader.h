// Takes the body of a function that was compiled elsewhere over as code: a handler's, or that of a function
// which handlers call.
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

/// "{space} .align 8 .b8 name[16]", with another name. Failure: neither parameter nor local memory.
Result<std::string> declaration_of(const Variable& variable, const std::string& name);

/// Reads one body. Registers and labels get numbers in the order in which they occur; `call.uni` becomes
/// `call`: LLVM writes it everywhere, also where lanes are apart.
class CodeReader {
 public:
  /// What a name of the body stands for in the code, and a constant added to it.
  struct Renamed {
    CodeOperand operand;
    std::int64_t offset = 0;
  };
  /// Asked for each name that is no label; nothing: a register gets a number, others keep their names.
  using Renaming = std::function<std::optional<Renamed>(std::string_view)>;

  /// The body has been parsed. Everything lives longer than the reader.
  CodeReader(const Module& module, const Body& body, NameSource& names, Renaming renaming);

  /// Variables in local memory are declared elsewhere.
  void leave_local_memory_out() { leaves_local_memory_out_ = true; }

  /// All of the body, `read_instruction` for each instruction. Failure: something in it has no place in other
  /// code, such as jumps through tables.
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
  /// Nothing: no label.
  std::optional<Label> label_of(std::string_view name);
  /// Nothing: no register, or one that code cannot have.
  std::optional<VirtualRegister> register_of(std::string_view name, std::uint32_t scope);
  Name text_of(const Operand& operand) const { return {std::string(module_.text(operand.text))}; }
  Failure refuse(const Operand& operand) const;

  const Module& module_;
  const Body& body_;
  NameSource& names_;
  const Renaming renaming_;
  bool leaves_local_memory_out_ = false;
  std::map<std::string_view, std::optional<Label>> labels_;  ///< those of the body
  std::map<std::pair<const RegisterDeclaration*, std::string_view>, VirtualRegister> registers_;
};

}  // namespace lynxpp::ptx
