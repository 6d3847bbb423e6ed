// At which accesses the sectors of global memory need not be looked at.
//
// How many sectors of 32 bytes the lanes touch follows from the differences of their addresses and from where
// in its sector one of the addresses lies. So accesses of one basic block that have one lane pattern touch
// the same number every time when their addresses differ by a multiple of 32, or when those of the lanes do:
// the first of them finds it out, and its tallies count for the others too. Addresses are followed modulo 32,
// so nothing is assumed about overflow: what widening may add is a multiple of 2^32. Where all lanes have one
// address it is one sector for each execution of a warp. Outside of loops most warps are full and their
// addresses begin where a sector does, so a place at which a warp comes by once counts only for the others
// and how many these are (RowSectors): then most warps have nothing to give away when they leave. Differences
// are followed through indices of 32 bits on the condition that none wraps around between two lanes
// (index_checks.h).
#pragma once

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Fills in InstrumentationUnit::memory for all probes of ProbeEffect::measures_sectors; `follows_indices`
/// through indices of 32 bits, too.
void find_sector_sites(InstrumentationUnit& unit, bool follows_indices);

}  // namespace lynxpp::ptx
