// Builds Code (code.h), instruction by instruction.
//
//   CodeBuilder code(names);                                     // names: of the function, EditList::names()
//   const VirtualRegister leads = code.elect_leader(code.active_mask());
//   const Label done = code.fresh_label();
//   code.branch_if(!CodePredicate(leads), done);
//   const VirtualRegister twice = code.compute(RegisterType::b64, "shl.b64", {value, 1});
//   code.emit("red.global.add.u64", {CodeAddress{slot, 8}, twice});
//   code.place(done);
//   edits.insert_before(instruction.text.begin, code.take());
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptx/ir/code.h"

namespace lynxpp::ptx {

/// Numbers the registers and labels that lynxpp adds to one function. All code added to the function shares
/// one source.
class NameSource {
 public:
  VirtualRegister fresh(RegisterType type) { return {type, registers_[static_cast<std::size_t>(type)]++}; }
  Label fresh_label() { return {labels_++}; }
  /// Number of registers of the type.
  std::uint32_t registers(RegisterType type) const { return registers_[static_cast<std::size_t>(type)]; }

  /// Maps the registers and labels of other code to this function's numbers.
  struct Numbers {
    std::array<std::uint32_t, register_types> first{};
    std::uint32_t first_label = 0;
    VirtualRegister of(VirtualRegister reg) const {
      return {reg.type, reg.id + first[static_cast<std::size_t>(reg.type)]};
    }
    Label of(Label label) const { return {label.id + first_label}; }
  };
  /// Reserves the numbers that `other` has assigned.
  Numbers reserve(const NameSource& other);

  bool operator==(const NameSource&) const = default;

 private:
  std::array<std::uint32_t, register_types> registers_{};
  std::uint32_t labels_ = 0;
};

/// A function that lynxpp adds to a module.
struct CodeFunction {
  std::string name;                     ///< empty: functions with equal code may be merged
  std::string result;                   ///< its declaration, ".param .b32 value"; empty if it has none
  std::vector<std::string> parameters;  ///< in the same form
  NameSource names;                     ///< of its registers and labels
  Code code;                            ///< including `ret`
  bool operator==(const CodeFunction&) const = default;
};

class CodeBuilder {
 public:
  explicit CodeBuilder(NameSource& names) : names_(&names) {}

  NameSource& names() { return *names_; }
  VirtualRegister fresh(RegisterType type) { return names_->fresh(type); }
  Label fresh_label() { return names_->fresh_label(); }

  void emit(std::string opcode, std::vector<CodeOperand> operands) {
    emit_if({}, std::move(opcode), std::move(operands));
  }
  /// Executes in the lanes in which the guard holds; without a guard in all lanes.
  void emit_if(std::optional<CodePredicate> guard, std::string opcode, std::vector<CodeOperand> operands);
  /// Emits an instruction whose result goes to a new register, the operand before `sources`.
  VirtualRegister compute(RegisterType result, std::string opcode, std::vector<CodeOperand> sources);
  VirtualRegister b32(std::string opcode, std::vector<CodeOperand> sources) {
    return compute(RegisterType::b32, std::move(opcode), std::move(sources));
  }
  VirtualRegister b64(std::string opcode, std::vector<CodeOperand> sources) {
    return compute(RegisterType::b64, std::move(opcode), std::move(sources));
  }
  VirtualRegister pred(std::string opcode, std::vector<CodeOperand> sources) {
    return compute(RegisterType::pred, std::move(opcode), std::move(sources));
  }
  /// Reads a 32-bit special register.
  VirtualRegister special(std::string name) { return b32("mov.u32", {SpecialRegister{std::move(name)}}); }
  void mov(VirtualRegister target, CodeOperand source) { mov_if({}, target, std::move(source)); }
  void mov_if(std::optional<CodePredicate> guard, VirtualRegister target, CodeOperand source);

  void place(Label label) { code_.statements.emplace_back(label); }
  void branch(Label target) { emit("bra", {target}); }
  void branch_if(CodePredicate guard, Label target) { emit_if(std::move(guard), "bra", {target}); }

  /// The currently active lanes.
  VirtualRegister active_mask() { return b32("activemask.b32", {}); }
  /// The lanes of `mask` below this one.
  VirtualRegister lanes_below(CodeOperand mask);
  /// Returns a predicate that holds in the lowest lane of `mask` and in all lanes below it; with `among` only
  /// if that holds too. The executing lanes are part of the mask, so exactly one of them is elected.
  VirtualRegister elect_leader(CodeOperand mask, const std::optional<CodePredicate>& among = {});
  void elect_leader_into(VirtualRegister leads, CodeOperand mask,
                         const std::optional<CodePredicate>& among = {});

  void open_scope() { code_.statements.emplace_back(CodeScope{true}); }
  void close_scope() { code_.statements.emplace_back(CodeScope{false}); }
  void add_text(std::string text) { code_.statements.emplace_back(CodeText{std::move(text)}); }
  void append(Code code) { code_.append(std::move(code)); }

  const Code& code() const { return code_; }
  bool empty() const { return code_.empty(); }
  /// Returns the code built so far and resets the builder.
  Code take() { return std::exchange(code_, {}); }

 private:
  NameSource* names_;
  Code code_;
};

}  // namespace lynxpp::ptx
