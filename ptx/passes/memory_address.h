#pragma once

#include <string>
#include <string_view>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Appends what sets the 64-bit register `target` to the address that `instruction` accesses, offset included; to 0 when it has none.
void append_memory_address(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                           std::string_view target, std::string& text);

}  // namespace lynxpp::ptx
