// Addresses of array elements whose index is in a register, `a[%r1]` and `a[%r1+2]`. The PTX ISA does not
// mention them, but ptxas accepts them.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// The address is the array's plus `bytes` times the sum of the index and its Operand::offset. ptxas (CUDA
/// 13.0) computes index, sum and product modulo 2^32, even for a 64-bit register, and adds the result
/// zero-extended.
struct ArrayElement {
  const Operand* array = nullptr;
  const Operand* index = nullptr;  ///< a register with 16, 32 or 64 bits
  std::uint32_t bytes = 0;         ///< size of an element
};

/// Such an address is an operand of kind `address` whose elements are the array and the index and whose
/// `integer` is the element size in bytes; all other addresses have `integer` 0. The parser turns a constant
/// index into `[a+offset]`.
inline std::optional<ArrayElement> array_element(const Operand& operand) {
  if (operand.kind != OperandKind::address || operand.integer == 0) return std::nullopt;
  return ArrayElement{&operand.elements[0], &operand.elements[1],
                      static_cast<std::uint32_t>(operand.integer)};
}

}  // namespace lynxpp::ptx
