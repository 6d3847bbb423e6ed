// Code ▶ PTX. Registers are named %lynxpp_p3, %lynxpp_h3, %lynxpp_r12, %lynxpp_rd4 and %lynxpp_rq1, labels
// $lynxpp_5; programs have no such names.
#pragma once

#include <string>

#include "ptx/ir/code.h"
#include "ptx/ir/code_builder.h"

namespace lynxpp::ptx {

std::string print(const CodeOperand& operand);

/// One line per statement, each terminated by "\n" and indented by "\t" unless it is a label.
std::string print(const Code& code);

/// Lines that declare the registers: "\t.reg .b32 %lynxpp_r<13>;\n" for each register type in use.
std::string print_declarations(const NameSource& names);

/// ".func NAME() {…}" with a trailing newline.
std::string print(const CodeFunction& function);

}  // namespace lynxpp::ptx
