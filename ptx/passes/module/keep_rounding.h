#pragma once

#include "ptx/emitter/emitter.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// In debug modules (`.target …, debug`), makes the default rounding `.rn` of floating-point sums,
/// differences and products explicit.
///   mul.f32 %f3, %f1, %f2;   ▶   mul.rn.f32 %f3, %f1, %f2;
/// Without it, the assembler may contract a product and a sum into one operation with a single rounding. The
/// program's own code was assembled without optimization and so without contraction; the variant is optimized
/// (it lacks the debug data that `debug` requires), and its results would differ in the last bit.
void keep_rounding(const Module& module, const ReachedFunctions& reached, EditList& edits);

}  // namespace lynxpp::ptx
