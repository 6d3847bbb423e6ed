// Counters that mean the same to the host become one.
//
// What the host makes of executions are sums, and each sum is linear in what the counters count. Two counters
// of a function that all sums take with the same factors need not be told apart: one register, raised where
// either of them would be, does for both. So copies of a loop's body (the compiler unrolled it) cost the
// registers of one. What no sum takes is not counted.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"
#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

/// By how much each sum grows with a count of one, modulo 2^64.
using CountColumn = std::vector<std::uint64_t>;

struct MergedFunction {
  FunctionPlan* plan = nullptr;
  const CountedFunction* counted = nullptr;
};

/// Of functions whose flows and guards are planned, storage is not; callers before callees. Counters that go
/// become silent.
void merge_counters(const std::vector<MergedFunction>& functions, const CountDemand& demand);

/// Sets Counter::is_even: of threads where lane 0 counts for the warp in the same register, so that all lanes
/// are there. Storage is chosen.
void find_even_counters(FunctionPlan& plan);

}  // namespace lynxpp::ptx
