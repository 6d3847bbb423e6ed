#pragma once

#include "ptx/emitter/emitter.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// Keeps ptxas from running out of predicate registers in code like this, where lanes vote on the bits of a
/// digit (CUB's radix sorts):
///   and.b32 %r2, %r1, 64;
///   setp.ne.u32 %p7, %r2, 0;   ▶   setp.gt.u32 %p7, %r2, 0;
/// ptxas combines seven tests of one register into one R2P, which writes all seven predicate registers. After
/// added code in which some lanes wait for each other, ptxas can no longer prove that the warp is converged:
/// it emits a second copy of each vote, which needs another predicate register, finds none, and fails with
/// "(C7600) Register allocation failed with register count of '7'". The seventh and later tests of a register
/// are therefore replaced by equivalent tests that do not form an R2P. Runs after the passes that add probes;
/// does nothing if no lanes wait for each other in the added code.
void rewrite_bit_tests(const Module& module, const ReachedFunctions& reached, EditList& edits);

}  // namespace lynxpp::ptx
