// At which accesses the banks of shared memory need not be looked at.
//
// Which lanes meet at a bank follows from the differences of their addresses, in whole words. So accesses of
// one basic block that have one lane pattern, size and kind add the same to their tallies every time: the
// first of them finds it out, and its tallies count for the others too. And lanes that all have one address
// meet nowhere, atomic operations apart.
#pragma once

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Fills in InstrumentationUnit::memory for all probes of ProbeEffect::measures_banks.
void find_bank_sites(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
