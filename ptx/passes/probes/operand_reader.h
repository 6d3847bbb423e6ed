#pragma once

#include <cstdint>

#include "ptx/ir/array_element.h"
#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"
#include "ptx/passes/variant.h"

namespace lynxpp::ptx {

/// Emits code that sets 64-bit registers to the values of an instruction's operands.
class OperandReader {
 public:
  /// The references must outlive this object.
  OperandReader(const Module& module, const SharedVariables& shared, const Body& body,
                const Instruction& instruction, CodeBuilder& code)
      : module_(module),
        shared_(shared),
        body_(body),
        instruction_(instruction),
        scope_(body.statements[instruction.statement].scope),
        code_(code) {}

  /// Sets `target` to the operand's bits, zero-extended from its width, limited to `most_bytes` (0: no
  /// limit). Registers, literals, special registers and variable names have bits; of 128-bit registers the
  /// lower half is used. Returns false, and sets 0, if the operand has none (a sink, a label, a list).
  bool add_value(const Operand& operand, std::uint32_t most_bytes, VirtualRegister target);

  /// Sets `target` to the address: base plus offset. 0 without an operand; for parameters, which have no
  /// address, the offset.
  void add_address(const Operand* address, VirtualRegister target);

  /// Sets `target` to the byte offset of an array element from the beginning of the array.
  void add_element_offset(const ArrayElement& element, VirtualRegister target);

 private:
  void add_base(const Operand& base, std::int64_t offset, VirtualRegister target);
  bool add_named(const Operand& operand, std::uint32_t most_bytes, VirtualRegister target);

  const Module& module_;
  const SharedVariables& shared_;
  const Body& body_;
  const Instruction& instruction_;
  const std::uint32_t scope_;
  CodeBuilder& code_;
};

}  // namespace lynxpp::ptx
