#include "ptx/passes/counting/refine/merge.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ptx/passes/counting/refine/lanes.h"
#include "ptx/passes/counting/refine/path_sum.h"

namespace lynxpp::ptx {
namespace {

using Executions = CountUse::Executions;
using Column = CountColumn;

/// The columns of all counters of a unit.
class Columns {
 public:
  Columns(const std::vector<MergedFunction>& functions, const CountDemand& demand) : functions_(functions) {
    columns_.resize(functions.size());
    for (std::size_t i = 0; i < functions.size(); ++i)
      columns_[i].assign(functions[i].plan->counters.size(), Column(demand.sums));
    std::vector<std::vector<CountUse>> uses(demand.sums);
    for (const CountUse& use : demand.uses) uses[use.sum].push_back(use);
    for (sum_ = 0; sum_ < demand.sums; ++sum_) look_at_sum(uses[sum_]);
  }

  const std::vector<Column>& of_function(std::size_t index) const { return columns_[index]; }

 private:
  using Factors = std::map<std::uint32_t, std::uint64_t>;

  void look_at_sum(const std::vector<CountUse>& uses) {
    for (Factors* factors : {&thread_blocks_, &warp_blocks_, &thread_guards_, &warp_guards_, &divisions_})
      factors->clear();
    for (const CountUse& use : uses) factors_of(use.executions)[use.place] += use.factor;
    // Callees first: their entries are executions of their callers' blocks.
    for (std::size_t i = functions_.size(); i-- > 0;) {
      add_guards(i);
      if (functions_[i].plan->threads) add_flow(i, *functions_[i].plan->threads, thread_blocks_);
      if (functions_[i].plan->warps) add_flow(i, *functions_[i].plan->warps, warp_blocks_);
    }
  }

  Factors& factors_of(Executions executions) {
    switch (executions) {
      case Executions::thread_block: return thread_blocks_;
      case Executions::warp_block: return warp_blocks_;
      case Executions::thread_guard: return thread_guards_;
      case Executions::warp_guard: return warp_guards_;
      case Executions::warp_division: break;
    }
    return divisions_;
  }

  static std::uint64_t factor(const Factors& factors, std::uint32_t place) {
    const auto found = factors.find(place);
    return found == factors.end() ? 0 : found->second;
  }

  void add_guards(std::size_t index) {
    const FunctionPlan& plan = *functions_[index].plan;
    falls_.clear();
    for (const GuardPlan& guard : plan.thread_guards) {
      const std::uint64_t wanted = factor(thread_guards_, plan.first_instruction + guard.instruction);
      const bool is_flow = guard.counter == no_counter;
      const bool is_rest = is_flow || guard.is_opposite;  // of the block's executions
      if (is_rest) thread_blocks_[plan.first_block + plan.block_of[guard.instruction]] += wanted;
      std::uint64_t& taken = is_flow ? falls_[guard.fall_through_edge] : columns_[index][guard.counter][sum_];
      taken += is_rest ? 0 - wanted : wanted;
    }
    for (const GuardPlan& guard : plan.warp_guards) {
      columns_[index][guard.counter][sum_] +=
          factor(warp_guards_, plan.first_instruction + guard.instruction);
    }
    for (const GuardPlan& guard : plan.warp_divisions)
      columns_[index][guard.counter][sum_] += factor(divisions_, plan.first_instruction + guard.instruction);
  }

  void add_flow(std::size_t index, const FlowPlan& flow, Factors& blocks) {
    const FunctionPlan& plan = *functions_[index].plan;
    std::vector<std::uint64_t> factors(flow.placement.edges().size());
    for (std::uint32_t block = 0; block < flow.edges_into.size(); ++block) {
      const std::uint64_t wanted = factor(blocks, plan.first_block + block);
      for (const std::uint32_t edge : flow.edges_into[block]) factors[edge] += wanted;
    }
    if (&blocks == &thread_blocks_) {
      for (const auto& [edge, taken] : falls_) factors[edge] += taken;
    }
    flow.placement.express_by_counted(factors);
    for (std::uint32_t edge = 0; edge < factors.size(); ++edge) {
      if (flow.counters[edge] != no_counter) columns_[index][flow.counters[edge]][sum_] += factors[edge];
    }
    if (!flow.entry_is_known) return;
    for (const auto& [caller, block] : plan.callers)
      blocks[functions_[caller].plan->first_block + block] += factors[flow.entry];
  }

  const std::vector<MergedFunction>& functions_;
  std::vector<std::vector<Column>> columns_;
  std::uint32_t sum_ = 0;
  // What the present sum takes of executions, by id.
  Factors thread_blocks_, warp_blocks_, thread_guards_, warp_guards_, divisions_;
  Factors falls_;  ///< of edges of one function
};

/// What is raised at the same places shares a register already; such counters merge with those of other
/// places together or not at all.
class FunctionMerge {
 public:
  FunctionMerge(const MergedFunction& function, const std::vector<Column>& columns)
      : plan_(*function.plan),
        columns_(columns),
        kept_(counters_of_lanes(*function.plan, *function.counted)) {
    for (const LoopPlan& loop : plan_.loops) {
      if (loop.leaving && loop.leaving->is_used) kept_.insert(loop.leaving->counter);
    }
  }

  void run() {
    std::map<std::pair<bool, std::vector<CountPlace>>, Group> groups;
    for (std::uint32_t index = 0; index < plan_.counters.size(); ++index) {
      Counter& counter = plan_.counters[index];
      if (counter.places.empty() || kept_.contains(index)) continue;
      if (std::ranges::all_of(columns_[index], [](std::uint64_t factor) { return factor == 0; })) {
        silence(counter);
      } else if (!counter.is_maximum() && !counter.is_complement) {
        groups[{counter.counts_warps && !counter.is_whole, counter.places}].push_back(index);
      }
    }
    std::map<Meaning, std::vector<Group>> alike;
    for (auto& [key, group] : groups) {
      std::ranges::sort(group, {}, [&](std::uint32_t index) { return meaning_of(index); });
      Meaning meaning;
      for (const std::uint32_t index : group) meaning.push_back(meaning_of(index));
      alike[std::move(meaning)].push_back(std::move(group));
    }
    for (const auto& [meaning, members] : alike) merge(members);
  }

 private:
  using Group = std::vector<std::uint32_t>;  ///< of counters with the same places
  using Meaning = std::vector<std::tuple<bool, bool, bool, Column>>;

  std::tuple<bool, bool, bool, Column> meaning_of(std::uint32_t index) const {
    const Counter& counter = plan_.counters[index];
    return {counter.counts_warps, counter.is_whole, counter.is_alike, columns_[index]};
  }

  static void silence(Counter& counter) {
    counter.places.clear();
    counter.is_silent = true;
  }

  /// What happens at most once is a bit, which is cheaper than a number.
  void merge(const std::vector<Group>& groups) {
    const auto is_repeated = [&](const Group& group) { return plan_.counters[group.front()].is_repeated; };
    if (std::ranges::none_of(groups, is_repeated)) return;
    for (std::size_t member = 0; member < groups.front().size(); ++member) {
      Counter& one = plan_.counters[groups.front()[member]];
      for (std::size_t i = 1; i < groups.size(); ++i) {
        Counter& other = plan_.counters[groups[i][member]];
        one.places.insert(one.places.end(), other.places.begin(), other.places.end());
        one.weight += other.weight;
        one.is_repeated = true;
        one.is_once = false;
        silence(other);
      }
      std::ranges::sort(one.places);
    }
  }

  FunctionPlan& plan_;
  const std::vector<Column>& columns_;
  std::set<std::uint32_t> kept_;
};

}  // namespace

void merge_counters(const std::vector<MergedFunction>& functions, const CountDemand& demand) {
  if (demand.sums == 0) return;
  const Columns columns(functions, demand);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    FunctionMerge(functions[i], columns.of_function(i)).run();
    sum_paths(*functions[i].plan, columns.of_function(i));
  }
}

void find_even_counters(FunctionPlan& plan) {
  const auto register_of = [](const Counter& counter) {
    return std::pair(counter.is_bit, counter.is_bit ? counter.bit : counter.reg);
  };
  std::set<std::pair<bool, std::uint32_t>> even;
  for (const Counter& counter : plan.counters) {
    if (counter.storage == Counter::Storage::from_lane_0) even.insert(register_of(counter));
  }
  for (Counter& counter : plan.counters) {
    if (counter.storage == Counter::Storage::summed && !counter.counts_warps)
      counter.is_even = even.contains(register_of(counter));
  }
}

}  // namespace lynxpp::ptx
