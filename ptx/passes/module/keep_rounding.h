#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// In modules for debugging (`.target …, debug`): gives floating-point sums, differences and products that
/// name no rounding the one they have, `.rn`.
///   mul.f32 %f3, %f1, %f2;   ▶   mul.rn.f32 %f3, %f1, %f2;
/// Without it the assembler may fuse a product and a sum into one operation with a single rounding. The
/// program's own code was assembled without optimization, which does not; the variant is not (it lacks the
/// debug data that goes with `debug`), and its results would differ in the last bit.
Status keep_rounding(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
