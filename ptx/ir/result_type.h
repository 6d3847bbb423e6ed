// The type of the result that an instruction writes to its first operand.
#pragma once

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Returns none if the instruction writes no register, writes it only after the next one begins (wgmma,
/// tcgen05), or has no type; pred for comparisons. For a vector, returns the type of one element.
DataType result_type(const Instruction& instruction);

}  // namespace lynxpp::ptx
