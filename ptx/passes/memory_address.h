#pragma once

#include <string>
#include <string_view>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Appends what sets the 64-bit register `target` to the address that `address`, an operand of `instruction`, stands for: base and
/// offset. 0 without an operand; of parameters the offset, since they have no address.
void append_memory_address(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                           const Operand* address, std::string_view target, std::string& text);

}  // namespace lynxpp::ptx
