#include "ptx/passes/counting/flow/thread_flow.h"

#include <optional>
#include <utility>

#include "ptx/passes/counting/refine/trip_counts.h"

namespace lynxpp::ptx {

FlowGraph thread_flow(const CountedFunction& function, const EdgeSites& sites,
                      const std::vector<TripCount>& trip_counts, bool takes_constants) {
  FlowGraph flow;
  const auto blocks = static_cast<std::uint32_t>(function.graph().blocks.size());
  flow.nodes = blocks;
  CountedEdge entry{{blocks, 0}, sites.entry(), true};
  entry.flow.is_known = function.entry_is_known;
  flow.edges.push_back(std::move(entry));
  for (std::uint32_t block = 0; block < blocks; ++block) {
    for (const std::uint32_t target : sites.targets(block)) {
      const bool leaves = target == EdgeSites::outside;
      CountedEdge edge{{block, leaves ? blocks : target}, {}, false};
      edge.flow.can_count = !leaves || !function.call_may_exit[block];
      if (edge.flow.can_count) edge.counter = sites.edge(block, target);
      edge.flow.weight = edge.counter.weight;
      flow.edges.push_back(std::move(edge));
    }
  }
  const auto use_of = [&](const TripCount& trips) {
    return trips.constant && !takes_constants ? std::nullopt : std::optional(CounterKind::threads);
  };
  count_by_trips(function, sites, trip_counts, use_of, flow);
  return flow;
}

}  // namespace lynxpp::ptx
