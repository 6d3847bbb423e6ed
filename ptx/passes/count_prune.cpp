#include "ptx/passes/count_prune.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

constexpr std::size_t pruning_budget = 200'000'000;

}  // namespace

void prune_flow(FunctionPlan& plan, FlowPlan& flow, const std::set<std::uint32_t>& blocks,
                const std::set<std::uint32_t>& exits) {
  const auto& edges = flow.placement.edges();
  if (blocks.size() == flow.edges_into.size()) return;
  if (flow.placement.counted().size() * edges.size() > pruning_budget) return;
  std::vector<std::uint64_t> flows(edges.size());
  const auto matters = [&] {
    for (const std::uint32_t block : blocks) {
      std::uint64_t sum = 0;
      for (const std::uint32_t edge : flow.edges_into[block]) sum += flows[edge];
      if (sum != 0) return true;
    }
    for (std::uint32_t edge = 0; edge < edges.size(); ++edge) {
      if (flows[edge] != 0 && exits.contains(edges[edge].source)) return true;
    }
    return false;
  };
  for (const std::uint32_t edge : flow.placement.counted()) {
    std::ranges::fill(flows, 0);
    flows[edge] = 1;
    flow.placement.solve(flows);
    if (matters()) continue;
    plan.counters[flow.counters[edge]].places.clear();
    flow.counters[edge] = no_counter;
  }
}

}  // namespace lynxpp::ptx
