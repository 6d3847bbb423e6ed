// Selects the counters from which the host can compute every requested count.
//
// Every requested count is a linear form over few counters and launch properties (linear_system.h). Planning
// builds the flow graphs of threads and of warps through each function, puts counters on the edges off a
// spanning tree, and substitutes what callers and refinements (refinements.h) determine.
// Counters with equal columns are merged; counters with empty columns are dropped.
#pragma once

#include <memory>

#include "ptx/passes/counting/demand.h"
#include "ptx/passes/counting/flow/program.h"
#include "ptx/passes/counting/plan.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Returns the plan of the requested counts. Fails if the counters cannot be placed.
Result<std::shared_ptr<const CountPlan>> plan_counting(const CountInputs& inputs,
                                                       const CountRequest& request);

}  // namespace lynxpp::ptx
