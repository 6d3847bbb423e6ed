// Chooses which counters are kept in registers and bits, and which are added to memory directly.
//
// A register costs one addition per increment and a few instructions per flush; a direct addition to memory
// costs an election and an access per increment. So counters that repeat are kept in registers while some are
// available; one-time counters are bits if registers are flushed anyway, or if enough of them are likely.
#pragma once

namespace lynxpp::ptx {

struct PlanDraft;

/// Sets the plan's functions, slots and measured variables.
void assign_storage(PlanDraft& plan);

}  // namespace lynxpp::ptx
