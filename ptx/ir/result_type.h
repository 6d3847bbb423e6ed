// The type of what an instruction writes to its first operand.
#pragma once

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// none where the instruction writes no register, or has not written it when the next one begins (wgmma,
/// tcgen05), or its opcode names no type; pred of comparisons. The type is that of one element of a vector.
DataType result_type(const Instruction& instruction);

}  // namespace lynxpp::ptx
