// What the sums make of counters: those that no sum takes are not counted, those that all sums take with the
// same factors are one.
//
// Copies of a loop's body (the compiler unrolled it) so cost the registers of one: a register that is
// incremented wherever either of them would be does for both.
#pragma once

namespace lynxpp::ptx {

struct PlanDraft;

void drop_unused_counters(PlanDraft& plan);
/// What is incremented at the same places shares a register already; such counters merge with those of other
/// places together or not at all.
void merge_equal_counters(PlanDraft& plan);

}  // namespace lynxpp::ptx
