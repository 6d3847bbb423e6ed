#include "ptx/passes/counting/refinements.h"

#include "ptx/passes/counting/draft.h"
#include "ptx/passes/counting/refine/columns.h"
#include "ptx/passes/counting/refine/grid_uniform.h"

namespace lynxpp::ptx {
namespace {

// Gains: how much the geometric mean of executed warp instructions grows without it, over 60 kernels of the
// examples or 54 of public programs, or kernel times over native on an H200
// (docs/measurements/2026-11-23-counting-refinements.md).
constexpr Refinement refinements[] = {
    {"constant_trip_counts", "loops with a constant trip count are not counted",
     "one instruction and a register less in each such loop", nullptr},
    {"trip_count_registers", "other loops are read from the register that counts them",
     "7.1 % (instruction_count of public programs)", nullptr},
    {"loop_periods", "… also where each step is a multiple of two",
     "2.3 % (instruction_count of public programs)", nullptr},
    {"lane_maxima", "in divergent loops that are in no other the lane that iterates most counts for the warp",
     "time of mandelbrot 1.52 → 1.16, of spmv_thread_per_row 1.10 → 1.03 (instruction_count)", nullptr},
    {"convergence_at_exit", "what a warp does once is found out where its lanes leave together",
     "4.9 % (basic_block_count)", nullptr},
    {"complements", "of blocks that nearly all warps enter those warps are counted that skip them",
     "6.0 % (instruction_count of public programs)", nullptr},
    {"expected_path", "what most threads do once, those flush that do not",
     "1.3 % (instruction_count), 1.5 % (opcode_mix)", nullptr},
    {"unused_counters", "what no sum takes is not counted",
     "9.6 % (branch_divergence), 7.0 % (memory_efficiency)", drop_unused_counters},
    {"grid_uniform", "what all thread blocks do equally often the first one counts",
     "4.2 % (basic_block_count)", count_in_first_block},
    {"equal_columns", "counters that all sums take with the same factors are one",
     "4.5 % (instruction_count)", merge_equal_counters},
    {replayed_accesses, "accesses of counted words whose addresses follow from the launch have no probe",
     "59 % (shared_memory_profile), 184 % (device_memory_profile): docs/design/memory.md", nullptr},
    {word_counters, "… and of the others most are counted by some instructions, without looking up where",
     "43 % (device_memory_profile), 13 % (shared_memory_profile): docs/design/memory.md", nullptr},
    {word_batches, "… and those of a block through several registers behind the last of them",
     "time of spmv_thread_per_row 2.96 → 2.78, of spmv_warp_per_row 1.25 → 1.22: docs/design/memory.md",
     nullptr},
    {word_runs, "… and those of loops that go through memory in equal steps are counted behind the loop",
     "a kernel with long loops 7.09 → 1.03 of its time, with short ones 3.71 → 5.09: docs/design/memory.md",
     nullptr},
    {loop_records, "… and of loops that a thread enters once it writes that down at a place of its own",
     "time of spmv_thread_per_row 3.79 → 2.78, in its first launch 5.21 → 2.82: docs/design/memory.md",
     nullptr},
    {array_counters, "… in the block's own shared memory at least of those arrays that there is room for",
     "atomic operations on device memory that meet: docs/design/memory.md", nullptr},
    {lane_values, "what lanes find out about their addresses' differences serves many accesses",
     "9.4 % (shared_bank_conflicts), 9.5 % (memory_efficiency of public programs)", nullptr},
    {entry_values, "what handlers in loops compute from the thread and the launch alone, once at the entry",
     "time of matmul_tiled 12.5 → 5.1 with a handler once per warp: 2026-11-23-handler-values.md", nullptr},
    {special_registers, "what lynxpp adds in loops reads special registers that the entry has read",
     "1.8 % (branch_divergence), 1.1 % (instruction_count)", nullptr},
};

}  // namespace

std::span<const Refinement> refinement_table() { return refinements; }

void refine(PlanDraft& plan) {
  for (const Refinement& refinement : refinements) {
    if (refinement.apply != nullptr && plan.has(refinement.name)) refinement.apply(plan);
  }
}

}  // namespace lynxpp::ptx
