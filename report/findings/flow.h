// Costs of divergent branches, and of loops whose trip counts differ among the lanes of a warp. Computed from
// counts of basic blocks by threads and by warps, and the control flow graph of the kernel's sites.
//
// A branch loses the lanes that arrive at it but do not execute the path; a loop the lanes that enter it but
// do not execute the iteration. Lanes missing because the thread block does not fill the warp (the last warp
// at a bounds check) are not a loss. Both are estimates: averages over all warps.
#pragma once

#include <cstdint>
#include <vector>

#include "report/record.h"

namespace lynxpp::report {

/// Counts of one kernel over all its launches, by block and by instruction.
struct FlowCounts {
  std::vector<double> threads;    ///< executions of each block by threads
  std::vector<double> warps;      ///< executions of each block by warps
  std::vector<double> divergent;  ///< per instruction: executions by warps that diverge at it
  double thread_blocks = 1;       ///< of all launches
};

struct BranchCost {
  std::uint32_t instruction = 0;
  double branches = 0;           ///< executions by warps
  double divergent = 0;          ///< executions after which the warp's lanes are on both paths
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
  std::vector<BranchCost> branches;  ///< divergent branches that do not belong to a loop
  std::vector<LoopCost> loops;       ///< loops that the lanes of a warp leave after different trip counts
};

FlowCosts flow_costs_of(const SitesRecord& sites, const FlowCounts& counts);

}  // namespace lynxpp::report
