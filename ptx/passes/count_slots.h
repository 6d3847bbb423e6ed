// Where counters lie in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/passes/count_plan.h"

namespace lynxpp::ptx {

/// Gives those of `order`, whose storage is chosen, the slots from `next` on, which is then behind the last one. What is given away together lies
/// together.
void place_slots(FunctionPlan& plan, const std::vector<std::uint32_t>& order, std::uint32_t& next);

}  // namespace lynxpp::ptx
