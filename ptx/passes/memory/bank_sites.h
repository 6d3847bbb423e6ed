// Finds accesses whose shared memory banks need not be examined.
//
// Bank conflicts depend only on the differences between the lanes' addresses, in 4-byte words. So accesses of
// one basic block with the same lane pattern, size and kind always add the same amounts to their tallies: the
// first of them computes it, and its tallies count for the others. Lanes with a single common address do not
// conflict, except in atomic operations.
#pragma once

#include <cstdint>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/memory/sites.h"
#include "ptx/passes/probe.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// Same as access_kind(), except that loads and stores of one 4-byte word are the same kind, because they
/// cost the same.
std::uint64_t bank_kind(const MemoryAccess& access);

/// Adds the function's sites of a ProbeEffect::measures_banks probe, whose position is `number`.
void find_bank_sites(const FunctionUnit& function, const Probe& probe, std::uint32_t number,
                     MemorySites& memory);

}  // namespace lynxpp::ptx
