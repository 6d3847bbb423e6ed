#pragma once

#include "ptx/emitter/emitter.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// Preserves the original's contraction of products and sums where a branching probe separates the two:
///   mul.f32 %f3, %f1, %f2;        mov.f32 %lynxpp_r0, %f1;
///                                 mov.f32 %lynxpp_r1, %f2;
///                                 mul.f32 %f3, %f1, %f2;
///   …a probe…                ▶    …a probe…
///   add.f32 %f5, %f3, %f4;        fma.rn.f32 %f5, %lynxpp_r0, %lynxpp_r1, %f4;
/// Other products and sums in the same stretch of code get the rounding modifier `.rn`. Stretches without
/// such a probe are unchanged: the assembler treats them as in the original.
///
/// The original of a debug module (`.target …, debug`) was assembled without optimization and so without
/// contraction; its variant is optimized, because it lacks the debug data that `debug` requires. There, all
/// products and sums get `.rn`. Runs after the passes that add probes, if
/// VariantOptions::assembler_contracts.
void keep_contraction(const Module& module, const ReachedFunctions& reached, EditList& edits);

}  // namespace lynxpp::ptx
