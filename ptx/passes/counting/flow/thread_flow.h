// The flow graph of threads through one function.
#pragma once

#include <vector>

#include "ptx/passes/counting/flow/flow.h"

namespace lynxpp::ptx {

/// Returns the flow graph of threads: all control-flow edges, the entry, and the edges that trip counts
/// define. Constant trip counts are used only with `takes_constants`.
FlowGraph thread_flow(const CountedFunction& function, const EdgeSites& sites,
                      const std::vector<TripCount>& trip_counts, bool takes_constants);

}  // namespace lynxpp::ptx
