// Drops counters that contribute to no sum, and merges counters that contribute with equal factors to all
// sums.
//
// For example, the copies of an unrolled loop body need only one register: a register that is incremented
// wherever any of the copies would be replaces all of them.
#pragma once

namespace lynxpp::ptx {

struct PlanDraft;

void drop_unused_counters(PlanDraft& plan);
/// Counters incremented at the same program points already share a register, so they are merged with those of
/// other points as a group or not at all.
void merge_equal_counters(PlanDraft& plan);

}  // namespace lynxpp::ptx
