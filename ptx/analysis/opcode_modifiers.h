// Parts of an opcode with its modifiers, such as "mad.lo.s32".
#pragma once

#include <string_view>

#include "ptx/ir/opcode.h"

namespace lynxpp::ptx {

/// "mad" of "mad.lo.s32".
inline std::string_view opcode_root(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

/// True if the opcode has `modifier` ("lo").
inline bool has_modifier(std::string_view opcode, std::string_view modifier) {
  for (std::size_t at = opcode.find('.'); at != std::string_view::npos; at = opcode.find('.', at + 1)) {
    if (opcode.substr(at + 1, opcode.find('.', at + 1) - at - 1) == modifier) return true;
  }
  return false;
}

/// The first modifier that is a type: the result type of a conversion.
inline DataType first_type(std::string_view opcode) {
  for (std::size_t at = opcode.find('.'); at != std::string_view::npos; at = opcode.find('.', at + 1)) {
    const DataType type = parse_data_type(opcode.substr(at + 1, opcode.find('.', at + 1) - at - 1));
    if (type != DataType::none) return type;
  }
  return DataType::none;
}

}  // namespace lynxpp::ptx
