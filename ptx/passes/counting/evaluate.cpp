#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t lanes_of_warp = 32;

/// From the slots to executions, callers before callees.
class Evaluation {
 public:
  Evaluation(const CountPlan& plan, std::span<const std::uint64_t> slots, const LaunchedGrid& launched)
      : plan_(plan), launched_(launched), totals_(plan.counters) {
    for (std::uint32_t replica = 0; replica < plan.replicas; ++replica) {
      for (std::uint32_t slot = 0; slot < plan.counters; ++slot)
        totals_[slot] += slots[std::size_t{replica} * plan.stride + slot];
    }
    for (unsigned dimension = 0; dimension < 3; ++dimension) {
      if ((plan.alike >> dimension & 1u) != 0) blocks_of_each_ *= launched.blocks[dimension];
    }
    result_.thread_blocks.resize(plan.basic_blocks);
    result_.warp_blocks.resize(plan.basic_blocks);
  }

  Executions run() {
    for (const FunctionPlan& function : plan_.functions) {
      std::vector<std::uint64_t> flows;
      if (function.threads) {
        flows = solve(function, *function.threads, launched_.threads, result_.thread_blocks);
      }
      if (function.warps) solve(function, *function.warps, launched_.warps, result_.warp_blocks);
      for (const GuardPlan& guard : function.thread_guards) {
        const std::uint32_t block = function.first_block + function.block_of[guard.instruction];
        std::uint64_t count =
            guard.counter != no_counter ? total(function, guard.counter) : flows[guard.fall_through_edge];
        if (guard.counter == no_counter || guard.is_opposite) count = result_.thread_blocks[block] - count;
        result_.thread_guards[function.first_instruction + guard.instruction] = count;
      }
      for (const GuardPlan& guard : function.warp_guards)
        result_.warp_guards[function.first_instruction + guard.instruction] = total(function, guard.counter);
      for (const GuardPlan& guard : function.warp_divisions) {
        result_.warp_divisions[function.first_instruction + guard.instruction] =
            total(function, guard.counter);
      }
    }
    for (const auto& [tally, counter] : plan_.tallies) result_.tallies[tally] = totals_[counter.slot];
    return std::move(result_);
  }

 private:
  std::uint64_t total(const FunctionPlan& function, std::uint32_t counter) const {
    const Counter& counted = function.counters[counter];
    if (counted.is_silent) return 0;
    if (counted.storage == Counter::Storage::path) {
      std::uint64_t sum = 0;
      for (const Counter::PathTerm& term : counted.path_terms) {
        const std::uint64_t marked = totals_[function.paths.slot + term.mark];
        sum += term.is_negative ? 0 - marked : marked;
      }
      return sum;
    }
    std::uint64_t sum = totals_[counted.slot] * counted.factor * (counted.is_alike ? blocks_of_each_ : 1);
    // Of two bits at most one is set in lanes that are all alike.
    if (counted.is_expected && counted.storage != Counter::Storage::both) {
      const std::uint64_t as_expected =
          launched_.warps - totals_[function.counters[function.exceptions].slot];
      sum += as_expected * (counted.storage == Counter::Storage::summed ? lanes_of_warp : 1);
    }
    return counted.is_complement ? launched_.warps - sum : sum;
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
  const LaunchedGrid& launched_;
  std::uint64_t blocks_of_each_ = 1;  ///< for which one gives its alike counters away
  std::vector<std::uint64_t> totals_;
  Executions result_;
};

}  // namespace

Executions CountPlan::evaluate(std::span<const std::uint64_t> slots, const LaunchedGrid& launched) const {
  return Evaluation(*this, slots, launched).run();
}

}  // namespace lynxpp::ptx
