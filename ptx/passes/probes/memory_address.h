#pragma once

#include "ptx/ir/array_element.h"
#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Sets `target`, of 64 bits, to the offset in bytes of an array's element from the array's beginning.
void add_element_offset(const Body& body, const Instruction& instruction, const ArrayElement& element,
                        VirtualRegister target, CodeBuilder& code);

/// Sets `target`, of 64 bits, to the address that `address`, an operand of `instruction`, stands for: base
/// and offset. 0 without an operand; of parameters the offset, since they have no address.
void add_memory_address(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                        const Operand* address, VirtualRegister target, CodeBuilder& code);

}  // namespace lynxpp::ptx
