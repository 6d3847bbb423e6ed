// An operation on the lanes of a warp that is computed in C++.
#pragma once

#include <cstdint>

namespace lynxpp::device::cpu {

/// Computes dst[lane] = f(a[lane], b[lane], c[lane]) for every lane in `mask`. Operands that the operation
/// does not have are null.
using LaneFunction = void (*)(std::uint32_t mask, void* dst, const void* a, const void* b, const void* c);

struct LaneOperation {
  LaneFunction function = nullptr;
  std::uint8_t result_bits = 0;  ///< of one value: 8, 16, 32 or 64
  std::uint8_t operand_bits[3] = {0, 0, 0};
};

}  // namespace lynxpp::device::cpu
