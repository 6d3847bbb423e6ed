// Which products and sums that name no rounding the assembler fuses into one operation with a single
// rounding.
//
//   mul.f32 %f3, %f1, %f2;
//   sub.f32 %f5, %f4, %f3;   ▶   one FFMA, as `fma.rn.f32 %f5, -%f1, %f2, %f4` would be
//
// ptxas decides within stretches of code that it sees as one block. A probe between product and sum ends such
// a stretch, and the result would differ in the last bit; so what ptxas does to the original has to be known.
// The rules were found by assembling small kernels with ptxas 13.0 for sm_90, and tests/contraction compares
// them with the ptxas of the machine:
//   - a product is fused when every use of its result is a sum or difference of the same type and the same
//     .ftz in its stretch, perhaps through `neg` and `mov`, and with it on one side only; then it is fused
//     into all of them and is gone. A guarded product and one with .sat are not fused;
//   - of two products that could be fused into one sum the first operand's is, unless only the other one has
//     no further use: products with one use are chosen before all others;
//   - a stretch ends where a block ends that is entered or left by anything but falling through, behind
//     calls, fences, and divisions and roots that are calls in machine code, and at guarded instructions
//     other than arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

/// A sum that is fused with a product. Indices are instructions of the function.
struct Contraction {
  std::uint32_t sum = 0;
  std::uint32_t product = 0;
  std::uint32_t operand = 1;  ///< of the sum, 1 or 2: where the product stands
  bool is_negated = false;    ///< on the way from product to sum, by an odd number of `neg`

  bool operator==(const Contraction&) const = default;
};

/// A stretch of code with sums and products that name no rounding.
struct ContractionStretch {
  std::vector<std::uint32_t> open;  ///< all of them, ascending
  std::vector<Contraction> fused;   ///< ascending by sum
  /// (product, sum) where one feeds the other, fused or not: what stands between may end the stretch.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
};

/// Stretches without such a pair are left out.
std::vector<ContractionStretch> find_contractions(FunctionAnalyses& analyses);

}  // namespace lynxpp::ptx
