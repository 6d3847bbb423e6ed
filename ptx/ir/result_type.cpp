#include "ptx/ir/result_type.h"

namespace lynxpp::ptx {

/// Opcodes with several types name the result type first.
DataType result_type(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  const bool is_late = opcode.starts_with("wgmma.") || opcode.starts_with("tcgen05.");
  if (instruction.traits.destinations == 0 || is_late) return DataType::none;
  if (opcode.starts_with("setp.") || opcode.starts_with("testp.")) return DataType::pred;
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
    const std::size_t end = opcode.find('.', dot + 1);
    const DataType type =
        parse_data_type(opcode.substr(dot + 1, end == std::string_view::npos ? end : end - dot - 1));
    if (type != DataType::none) return type;
    dot = end;
  }
  return DataType::none;
}

}  // namespace lynxpp::ptx
