#include "ptx/passes/counting/refine/prune.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lynxpp::ptx {
namespace {

constexpr std::size_t pruning_budget = 20'000'000;  // edges

/// Which executions of blocks an edge's flow is part of.
class Wanted {
 public:
  Wanted(const FlowPlan& flow, const std::set<std::uint32_t>& blocks, const std::set<std::uint32_t>& exits)
      : edges_(flow.placement.edges()),
        blocks_into_(edges_.size()),
        executions_(flow.edges_into.size()),
        is_exit_(executions_.size()) {
    for (const std::uint32_t block : blocks) {
      for (const std::uint32_t edge : flow.edges_into[block]) blocks_into_[edge].push_back(block);
    }
    for (const std::uint32_t block : exits) is_exit_[block] = true;
  }

  bool depend_on(const std::vector<EdgePlacement::Flow>& flows) {
    bool leaves = false;
    for (const auto& [edge, amount] : flows) {
      const std::uint32_t source = edges_[edge].source;
      leaves |= source < is_exit_.size() && is_exit_[source];
      for (const std::uint32_t block : blocks_into_[edge]) executions_[block] += amount;
    }
    bool is_executed = false;
    for (const auto& [edge, amount] : flows) {
      for (const std::uint32_t block : blocks_into_[edge])
        is_executed |= std::exchange(executions_[block], 0) != 0;
    }
    return leaves || is_executed;
  }

 private:
  const std::vector<FlowEdge>& edges_;
  std::vector<std::vector<std::uint32_t>> blocks_into_;  ///< per edge
  std::vector<std::uint64_t> executions_;                ///< per block; 0 between calls
  std::vector<bool> is_exit_;
};

}  // namespace

void prune_flow(FunctionPlan& plan, FlowPlan& flow, const std::set<std::uint32_t>& blocks,
                const std::set<std::uint32_t>& exits) {
  if (blocks.size() == flow.edges_into.size()) return;
  Wanted wanted(flow, blocks, exits);
  std::size_t seen = 0;
  for (const std::uint32_t edge : flow.placement.counted()) {
    const std::vector<EdgePlacement::Flow> flows = flow.placement.flows_of(edge);
    seen += flows.size();
    if (seen > pruning_budget) return;
    if (wanted.depend_on(flows)) continue;
    plan.counters[flow.counters[edge]].places.clear();
    flow.counters[edge] = no_counter;
  }
}

}  // namespace lynxpp::ptx
