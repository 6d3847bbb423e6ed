// Finds accesses whose global memory sectors need not be examined.
//
// The number of 32-byte sectors that the lanes touch depends on the differences between their addresses and
// on the offset of one address in its sector. So accesses of one basic block with the same lane pattern touch
// the same number of sectors if their addresses differ by a multiple of 32, or if the lanes' addresses do:
// the first access computes it, and its tallies count for the others. Addresses are tracked modulo 32, so
// overflow needs no assumption: widening can only add a multiple of 2^32. If all lanes have one address, each
// warp execution touches one sector. Outside loops, most warps are full and sector-aligned; only the number
// of other warps and their sectors are tallied (RowSectors), so most warps flush nothing. Differences are
// tracked through 32-bit indices on the condition that none overflows between two lanes (index_checks.h).
#pragma once

#include <cstdint>

#include "ptx/passes/memory/sites.h"
#include "ptx/passes/probe.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// Adds the function's sites of a ProbeEffect::measures_sectors probe, whose position is `number`. With
/// `follows_indices`, also tracks addresses through 32-bit indices. `index` is the function's position in
/// ReachedFunctions::functions.
void find_sector_sites(const FunctionUnit& function, std::uint32_t index, const Probe& probe,
                       std::uint32_t number, bool follows_indices, MemorySites& memory);

}  // namespace lynxpp::ptx
