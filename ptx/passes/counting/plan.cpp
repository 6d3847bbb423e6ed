#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

std::vector<std::uint64_t> CountPlan::evaluate(std::span<const std::uint64_t> slots,
                                               const LaunchedGrid& launched) const {
  std::vector<std::uint64_t> values(system.size());
  values[launched_threads] = launched.threads;
  values[launched_warps] = launched.warps;
  for (const FunctionCounters& function : functions) {
    for (const Counter& counter : function.counters) {
      std::uint64_t sum = 0;
      for (std::uint32_t replica = 0; replica < replicas; ++replica)
        sum += slots[std::size_t{replica} * stride + counter.slot];
      values[counter.variable] = sum;
    }
  }
  system.evaluate(values);
  return values;
}

}  // namespace lynxpp::ptx
