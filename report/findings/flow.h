// Costs of divergent branches, and of loops whose trip counts differ among the lanes of a warp, by counts of
// basic blocks by threads and by warps and the control flow graph of the kernel's sites.
//
// A branch loses the lanes by which fewer execute its paths than arrive at it; a loop those by which fewer
// execute an iteration than enter it. Lanes that are missing because a thread block has none left to fill a
// warp (the last warp at a bounds check) are not a loss. Both are estimates: averages over all warps.
#pragma once

#include <cstdint>
#include <vector>

#include "report/record.h"

namespace lynxpp::report {

/// Counts of one kernel over all its launches, by block and by instruction.
struct FlowCounts {
  std::vector<double> threads;    ///< executions of each block by threads
  std::vector<double> warps;      ///< and by warps
  std::vector<double> divergent;  ///< of each instruction: executions by warps that diverge at it
  double thread_blocks = 1;       ///< of all launches
};

struct BranchCost {
  std::uint32_t instruction = 0;
  double branches = 0;           ///< executions by warps
  double divergent = 0;          ///< those after which the warp's lanes are on both paths
  double warp_instructions = 0;  ///< executed on its paths, up to their join
  double thread_instructions = 0;
  double lost = 0;  ///< warp instructions that would not be executed without divergence
};

struct LoopCost {
  std::uint32_t instruction = 0;  ///< branch that leaves or repeats the loop
  double warp_entries = 0, thread_entries = 0;
  double warp_iterations = 0, thread_iterations = 0;
  double warp_instructions = 0;  ///< executed in the loop
  double lost = 0;               ///< warp instructions that would not be executed with equal trip counts
};

struct FlowCosts {
  std::vector<BranchCost> branches;  ///< that diverge and do not belong to a loop
  std::vector<LoopCost> loops;       ///< that lanes of a warp leave after different trip counts
};

FlowCosts flow_costs_of(const SitesRecord& sites, const FlowCounts& counts);

}  // namespace lynxpp::report
