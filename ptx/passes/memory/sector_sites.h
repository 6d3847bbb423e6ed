// At which accesses the sectors of global memory need not be looked at.
//
// How many sectors of 32 bytes the lanes touch follows from the differences of their addresses and from where
// in its sector one of the addresses lies. So accesses of one basic block that have one lane pattern touch
// the same number every time when their addresses differ by a multiple of 32, or when those of the lanes do:
// the first of them computes it, and its tallies count for the others too. Addresses are followed modulo 32,
// so nothing is assumed about overflow: what widening may add is a multiple of 2^32. Where all lanes have one
// address it is one sector for each execution of a warp. Outside loops most warps are full and
// sector-aligned; only the others, and how many they are, are tallied (RowSectors), so most warps flush
// nothing. Differences are followed through indices of 32 bits on the condition that none wraps around
// between two lanes (index_checks.h).
#pragma once

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Fills in InstrumentationUnit::memory for a probe of ProbeEffect::measures_sectors, by its number;
/// `follows_indices` through indices of 32 bits, too.
void find_sector_sites(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t probe,
                       bool follows_indices);

}  // namespace lynxpp::ptx
