// At which accesses the banks of shared memory need not be looked at.
//
// Which lanes conflict at a bank follows from the differences of their addresses, in whole words. So accesses
// of one basic block that have one lane pattern, size and kind add the same to their tallies every time: the
// first of them computes it, and its tallies count for the others too. And lanes that all have one address do
// not conflict, atomic operations apart.
#pragma once

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Of shared memory: as access_kind(), but loads and stores of a word cost the same.
std::uint64_t bank_kind(const MemoryAccess& access);

/// Fills in InstrumentationUnit::memory for a probe of ProbeEffect::measures_banks, by its number.
void find_bank_sites(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t probe);

}  // namespace lynxpp::ptx
