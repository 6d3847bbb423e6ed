// Addresses of array elements whose index is in a register, `a[%r1]` and `a[%r1+2]`. PTX's reference does not
// mention them, ptxas takes them.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// The address is the array's plus `bytes` times the index and Operand::offset of the index. ptxas (of CUDA
/// 13.0) computes index, sum and product modulo 2^32, also when the register has 64 bits, and adds the result
/// without sign.
struct ArrayElement {
  const Operand* array = nullptr;
  const Operand* index = nullptr;  ///< a register with 16, 32 or 64 bits
  std::uint32_t bytes = 0;         ///< of an element
};

/// Such an address is an operand of kind `address` whose elements are the array and the index and whose
/// `integer` are the bytes of an element; of all other addresses `integer` is 0. With a constant index the
/// parser makes `[a+offset]` of it.
inline std::optional<ArrayElement> array_element(const Operand& operand) {
  if (operand.kind != OperandKind::address || operand.integer == 0) return std::nullopt;
  return ArrayElement{&operand.elements[0], &operand.elements[1],
                      static_cast<std::uint32_t>(operand.integer)};
}

}  // namespace lynxpp::ptx
