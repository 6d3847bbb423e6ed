// Determines whether thread blocks of a kernel can wait for each other without a cooperative launch.
//
// A block waits in a loop that reads what another block writes and exits once it has seen it. A kernel in
// which no loop branches on such a read waits for no block, and its thread blocks need not be resident
// together:
//
//   while (ld.acquire(flag) != 1);                 waits
//   for (i = 0; i < n; ++i) sum += ld.global(…);   does not: no branch depends on the read
//   while (lo < hi) … ld.global(keys[mid]) …       does not: an unordered weak read may be kept
//                                                  in a register, so no program can wait on it
#pragma once

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Returns false only if no block can wait. Precondition: the bodies of the kernel and its callees are
/// parsed.
bool may_wait_for_blocks(const Module& module, const Function& kernel);

}  // namespace lynxpp::ptx
