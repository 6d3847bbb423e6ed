// Predicts which products and sums without a rounding modifier ptxas contracts into one fused operation.
//
//   mul.f32 %f3, %f1, %f2;
//   sub.f32 %f5, %f4, %f3;   ▶   one FFMA, as `fma.rn.f32 %f5, -%f1, %f2, %f4` would be
//
// ptxas contracts within stretches of code that it treats as one block. A probe between product and sum ends
// such a stretch, and the result would differ in the last bit; instrumentation therefore has to know what
// ptxas does to the original. The rules were found by assembling small kernels with ptxas 13.0 for sm_90, and
// tests/contraction compares them with the installed ptxas:
//   - A product is fused if every use of its result is a sum or difference of the same type and the same
//     .ftz in its stretch, possibly through `neg` and `mov`, and with the product on one side only. It is
//     then fused into all of them and removed. Guarded products and products with .sat are not fused.
//   - If both operands of a sum are fusable products, the first operand is fused, unless only the second has
//     no further use: products with one use are chosen before all others.
//   - A stretch ends at the end of a block that is entered or left other than by falling through; after
//     calls, fences, and divisions and roots that are calls in machine code; and at guarded instructions
//     other than arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

/// A sum that is fused with a product. Indices refer to the function's instructions.
struct Contraction {
  std::uint32_t sum = 0;
  std::uint32_t product = 0;
  std::uint32_t operand = 1;  ///< operand of the sum that the product feeds, 1 or 2
  bool is_negated = false;    ///< between product and sum, by an odd number of `neg`

  bool operator==(const Contraction&) const = default;
};

/// A stretch of code with sums and products that have no rounding modifier.
struct ContractionStretch {
  std::vector<std::uint32_t> open;  ///< all such sums and products, ascending
  std::vector<Contraction> fused;   ///< ascending by sum
  /// (product, sum) if one feeds the other, fused or not: code inserted between them may end the stretch.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
};

/// Omits stretches without such a pair.
std::vector<ContractionStretch> find_contractions(FunctionAnalyses& analyses);

}  // namespace lynxpp::ptx
