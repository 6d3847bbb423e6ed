#pragma once

#include <cstdint>

#include "ptx/ir/array_element.h"
#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Code that sets registers of 64 bits to what operands of one instruction stand for.
class OperandReader {
 public:
  /// The references outlive this.
  OperandReader(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                CodeBuilder& code)
      : unit_(unit),
        body_(body),
        instruction_(instruction),
        scope_(body.statements[instruction.statement].scope),
        code_(code) {}

  /// The bits of `operand`, zero-extended from the operand's width, at most `most_bytes` of them (0: all).
  /// Registers, literals, special registers and names of variables have bits; of 128-bit registers the lower
  /// half is taken. False, and 0 in `target`: the operand has none (a sink, a label, a list).
  bool add_value(const Operand& operand, std::uint32_t most_bytes, VirtualRegister target);

  /// The address that `address` stands for: base and offset. 0 without an operand; of parameters the offset,
  /// since they have no address.
  void add_address(const Operand* address, VirtualRegister target);

  /// The offset in bytes of an array's element from the array's beginning.
  void add_element_offset(const ArrayElement& element, VirtualRegister target);

 private:
  void add_base(const Operand& base, std::int64_t offset, VirtualRegister target);
  bool add_named(const Operand& operand, std::uint32_t most_bytes, VirtualRegister target);

  const InstrumentationUnit& unit_;
  const Body& body_;
  const Instruction& instruction_;
  const std::uint32_t scope_;
  CodeBuilder& code_;
};

}  // namespace lynxpp::ptx
