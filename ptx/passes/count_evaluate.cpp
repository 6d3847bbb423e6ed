#include "ptx/passes/count_plan.h"

namespace lynxpp::ptx {
namespace {

/// From the slots to executions, callers before callees.
class Evaluation {
 public:
  Evaluation(const CountPlan& plan, std::span<const std::uint64_t> slots, std::uint64_t threads,
             std::uint64_t warps)
      : plan_(plan), launched_threads_(threads), launched_warps_(warps), totals_(plan.counters) {
    for (std::uint32_t replica = 0; replica < plan.replicas; ++replica) {
      for (std::uint32_t slot = 0; slot < plan.counters; ++slot)
        totals_[slot] += slots[std::size_t{replica} * plan.stride + slot];
    }
    result_.thread_blocks.resize(plan.basic_blocks);
    result_.warp_blocks.resize(plan.basic_blocks);
  }

  Executions run() {
    for (const FunctionPlan& function : plan_.functions) {
      std::vector<std::uint64_t> flows;
      if (function.threads) {
        flows = solve(function, *function.threads, launched_threads_, result_.thread_blocks);
      }
      if (function.warps) solve(function, *function.warps, launched_warps_, result_.warp_blocks);
      for (const GuardPlan& guard : function.thread_guards) {
        const std::uint32_t block = function.first_block + function.block_of[guard.instruction];
        std::uint64_t count =
            guard.counter != no_counter ? total(function, guard.counter) : flows[guard.fall_through_edge];
        if (guard.counter == no_counter || guard.is_opposite) count = result_.thread_blocks[block] - count;
        result_.thread_guards[function.first_instruction + guard.instruction] = count;
      }
      for (const GuardPlan& guard : function.warp_guards)
        result_.warp_guards[function.first_instruction + guard.instruction] = total(function, guard.counter);
      for (const GuardPlan& guard : function.warp_divisions)
        result_.warp_divisions[function.first_instruction + guard.instruction] =
            total(function, guard.counter);
    }
    for (const auto& [tally, counter] : plan_.tallies) result_.tallies[tally] = totals_[counter.slot];
    return std::move(result_);
  }

 private:
  std::uint64_t total(const FunctionPlan& function, std::uint32_t counter) const {
    const Counter& counted = function.counters[counter];
    if (counted.is_silent) return 0;
    return counted.is_complement ? launched_warps_ - totals_[counted.slot] : totals_[counted.slot];
  }

  std::vector<std::uint64_t> solve(const FunctionPlan& function, const FlowPlan& flow, std::uint64_t launched,
                                   std::vector<std::uint64_t>& blocks) const {
    std::vector<std::uint64_t> flows(flow.counters.size());
    for (std::size_t edge = 0; edge < flows.size(); ++edge) {
      if (flow.counters[edge] != no_counter) flows[edge] = total(function, flow.counters[edge]);
    }
    if (flow.entry_is_known) {
      std::uint64_t entered = function.unit == 0 ? launched : 0;
      for (const auto& [caller, block] : function.callers)
        entered += blocks[plan_.functions[caller].first_block + block];
      flows[flow.entry] = entered;
    }
    flow.placement.solve(flows);
    for (std::size_t block = 0; block < flow.edges_into.size(); ++block) {
      for (const std::uint32_t edge : flow.edges_into[block])
        blocks[function.first_block + block] += flows[edge];
    }
    return flows;
  }

  const CountPlan& plan_;
  const std::uint64_t launched_threads_;
  const std::uint64_t launched_warps_;
  std::vector<std::uint64_t> totals_;
  Executions result_;
};

}  // namespace

Executions CountPlan::evaluate(std::span<const std::uint64_t> slots, std::uint64_t launched_threads,
                               std::uint64_t launched_warps) const {
  return Evaluation(*this, slots, launched_threads, launched_warps).run();
}

}  // namespace lynxpp::ptx
