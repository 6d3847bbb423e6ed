#pragma once

#include <string>
#include <string_view>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Appends what sets the 64-bit register `target` to the bits of `operand`, zero-extended from the operand's
/// width, at most `most_bytes` of them (0: all). Registers, literals, special registers and names of
/// variables have bits; of 128-bit registers the lower half is taken. False, and 0 in `target`: the operand
/// has none (a sink, a label, a list).
bool append_operand_value(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                          const Operand& operand, std::uint32_t most_bytes, std::string_view target,
                          std::string& text);

/// The registers that the above needs besides the target.
void append_operand_registers(std::string& text);

}  // namespace lynxpp::ptx
