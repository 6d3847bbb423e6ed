// Counters that nothing in demand depends on, for plan.cpp.
#pragma once

#include <cstdint>
#include <set>

#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

/// Takes counters away that neither the executions of `blocks` nor the edges out of `exits` depend on. Of
/// flows with long cycles some keep theirs: of each counter, the edges are looked at that its own flow runs
/// over.
void prune_flow(FunctionPlan& plan, FlowPlan& flow, const std::set<std::uint32_t>& blocks,
                const std::set<std::uint32_t>& exits);

}  // namespace lynxpp::ptx
