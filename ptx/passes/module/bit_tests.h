#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Keeps ptxas from running out of predicate registers in code like this, where lanes vote on the bits of a
/// digit (CUB's radix sorts):
///   and.b32 %r2, %r1, 64;
///   setp.ne.u32 %p7, %r2, 0;   ▶   setp.gt.u32 %p7, %r2, 0;
/// Seven tests of one register become one R2P, which fills all seven predicate registers. After added code in
/// which some lanes wait for each other, ptxas no longer knows that the warp is together: it gives each vote
/// a second copy, which needs a predicate register of its own, finds none, and ends with "(C7600) Register
/// allocation failed with register count of '7'". The seventh test of a register and those that follow are
/// therefore written as tests that mean the same and become no R2P. Runs after the passes that add probes;
/// does nothing where no lanes wait for each other in what they have added.
Status rewrite_bit_tests(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
