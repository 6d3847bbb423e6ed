// Where counters lie in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

/// Gives those of `order`, whose storage is chosen, the slots from `next` on, which is then behind the last
/// one. What is given away together lies together.
void place_slots(FunctionPlan& plan, const std::vector<std::uint32_t>& order, std::uint32_t& next);

/// How many counters the function adds to memory from registers, one for each exit.
std::size_t flushed_counters(const FunctionPlan& plan, const Function& function);

}  // namespace lynxpp::ptx
