#pragma once

#include <string>
#include <string_view>

#include "ptx/ir/array_element.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Appends what sets the 64-bit register `target` to the bytes that the element of an array is behind the
/// array's beginning.
void append_element_offset(const Body& body, const Instruction& instruction, const ArrayElement& element,
                           std::string_view target, std::string& text);

/// Appends what sets the 64-bit register `target` to the address that `address`, an operand of `instruction`,
/// stands for: base and offset. 0 without an operand; of parameters the offset, since they have no address.
void append_memory_address(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                           const Operand* address, std::string_view target, std::string& text);

}  // namespace lynxpp::ptx
