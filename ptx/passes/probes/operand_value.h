#pragma once

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Sets `target`, of 64 bits, to the bits of `operand`, zero-extended from the operand's width, at most
/// `most_bytes` of them (0: all). Registers, literals, special registers and names of variables have bits; of
/// 128-bit registers the lower half is taken. False, and 0 in `target`: the operand has none (a sink, a
/// label, a list).
bool add_operand_value(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                       const Operand& operand, std::uint32_t most_bytes, VirtualRegister target,
                       CodeBuilder& code);

}  // namespace lynxpp::ptx
