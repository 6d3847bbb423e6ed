// Whether the thread blocks of a kernel can wait for each other without a cooperative launch.
//
// A block waits in a loop that reads what another block writes and goes on when it has seen it. So a kernel
// in which no loop lets such a read decide a branch waits for no block, and its thread blocks need not be on
// the device together:
//
//   while (ld.acquire(flag) != 1);                 waits
//   for (i = 0; i < n; ++i) sum += ld.global(…);   does not: what is read decides nothing
//   while (lo < hi) … ld.global(keys[mid]) …       does not: a weak read that nothing orders may be kept
//                                                  in a register, so no program can wait by it
#pragma once

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// False only where it is certain. Precondition: the bodies of the kernel and of what it calls are parsed.
bool may_wait_for_blocks(const Module& module, const Function& kernel);

}  // namespace lynxpp::ptx
