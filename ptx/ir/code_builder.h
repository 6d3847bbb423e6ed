// Makes Code (code.h), instruction by instruction.
//
//   CodeBuilder code(names);                                     // names: of the function, EditList::names()
//   const VirtualRegister leads = code.elect_leader(code.active_mask());
//   const Label done = code.fresh_label();
//   code.branch_if(!CodePredicate(leads), done);
//   const VirtualRegister twice = code.compute(RegisterType::b64, "shl.b64", {value, 1});
//   code.emit("red.global.add.u64", {CodeAddress{place, 8}, twice});
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

/// Numbers the registers and labels that lynxpp adds to one function. All code of the function takes them
/// from one source.
class NameSource {
 public:
  VirtualRegister fresh(RegisterType type) { return {type, registers_[static_cast<std::size_t>(type)]++}; }
  Label fresh_label() { return {labels_++}; }
  /// How many registers of the type there are.
  std::uint32_t registers(RegisterType type) const { return registers_[static_cast<std::size_t>(type)]; }

  /// What the registers and labels of other code are called in this function.
  struct Numbers {
    std::array<std::uint32_t, register_types> first{};
    std::uint32_t first_label = 0;
    VirtualRegister of(VirtualRegister reg) const {
      return {reg.type, reg.id + first[static_cast<std::size_t>(reg.type)]};
    }
    Label of(Label label) const { return {label.id + first_label}; }
  };
  /// Numbers as many as `other` has given out.
  Numbers reserve(const NameSource& other);

  bool operator==(const NameSource&) const = default;

 private:
  std::array<std::uint32_t, register_types> registers_{};
  std::uint32_t labels_ = 0;
};

/// A function that lynxpp adds to a module.
struct CodeFunction {
  std::string name;                     ///< empty where equal functions are to be one
  std::string result;                   ///< its declaration, ".param .b32 value"; empty: there is none
  std::vector<std::string> parameters;  ///< likewise
  NameSource names;                     ///< of its registers and labels
  Code code;                            ///< `ret` included
  bool operator==(const CodeFunction&) const = default;
};

class CodeBuilder {
 public:
  explicit CodeBuilder(NameSource& names) : names_(&names) {}

  VirtualRegister fresh(RegisterType type) { return names_->fresh(type); }
  Label fresh_label() { return names_->fresh_label(); }

  void emit(std::string opcode, std::vector<CodeOperand> operands) {
    emit_if({}, std::move(opcode), std::move(operands));
  }
  /// For the lanes in which the guard holds; without one for all.
  void emit_if(std::optional<CodePredicate> guard, std::string opcode, std::vector<CodeOperand> operands);
  /// The instruction's result in a register of its own: the operand before `sources`.
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
  /// Its value, of 32 bits.
  VirtualRegister special(std::string name) { return b32("mov.u32", {SpecialRegister{std::move(name)}}); }
  void mov(VirtualRegister target, CodeOperand source) { mov_if({}, target, std::move(source)); }
  void mov_if(std::optional<CodePredicate> guard, VirtualRegister target, CodeOperand source);

  void place(Label label) { code_.statements.emplace_back(label); }
  void branch(Label target) { emit("bra", {target}); }
  void branch_if(CodePredicate guard, Label target) { emit_if(std::move(guard), "bra", {target}); }

  /// The lanes that execute this now.
  VirtualRegister active_mask() { return b32("activemask.b32", {}); }
  /// Those lanes of `mask` that are lower than this one.
  VirtualRegister lanes_below(CodeOperand mask);
  /// A predicate that holds in the lowest lane of `mask`, and in all lanes below it; with `among` only where
  /// that holds too. What executes this is part of the mask, so one lane of it leads.
  VirtualRegister elect_leader(CodeOperand mask, const std::optional<CodePredicate>& among = {});
  void elect_leader_into(VirtualRegister leads, CodeOperand mask,
                         const std::optional<CodePredicate>& among = {});

  void open_scope() { code_.statements.emplace_back(CodeScope{true}); }
  void close_scope() { code_.statements.emplace_back(CodeScope{false}); }
  void add_text(std::string text) { code_.statements.emplace_back(CodeText{std::move(text)}); }
  void append(Code code) { code_.append(std::move(code)); }

  const Code& code() const { return code_; }
  bool empty() const { return code_.empty(); }
  /// What has been made so far; the builder starts anew.
  Code take() { return std::exchange(code_, {}); }

 private:
  NameSource* names_;
  Code code_;
};

}  // namespace lynxpp::ptx
