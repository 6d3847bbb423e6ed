// A plan under construction, which the refinements (refinements.h) inspect and change.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "ptx/passes/counting/flow/warp_flow.h"
#include "ptx/passes/counting/plan.h"
#include "ptx/passes/counting/refinements.h"

namespace lynxpp::ptx {

/// The program points and tallies requested in one function.
struct FunctionDemand {
  std::map<Quantity::Kind, std::set<std::uint32_t>> sites;  ///< blocks or instructions of the function
  std::vector<Tally> tallies;
};

struct FunctionDraft {
  explicit FunctionDraft(CountedFunction f)
      : function(std::move(f)), sites(function), regions(function, sites) {}
  FunctionDraft(const FunctionDraft&) = delete;
  FunctionDraft& operator=(const FunctionDraft&) = delete;

  const CountedFunction function;
  const EdgeSites sites;
  WarpRegions regions;
  FunctionDemand demand;
  FlowFacts facts;
  std::vector<CounterDraft> counters;
  FunctionCounters result;
};

struct PlanDraft {
  PlanDraft(const CountInputs& i, const CountRequest& r)
      : inputs(i), request(r), plan(std::make_shared<CountPlan>()) {
    plan->is_wide = i.is_wide;
    plan->sums_lanes = !i.is_wide && i.sm >= 80;  // redux.sync
    plan->launched_threads = system.measure();
    plan->launched_warps = system.measure();
  }

  const CountInputs& inputs;
  const CountRequest& request;
  std::deque<FunctionDraft> functions;  ///< callers before callees
  LinearSystem system;                  ///< becomes CountPlan::system
  const std::shared_ptr<CountPlan> plan;

  /// True if counters of the function may be kept in registers.
  bool keeps_registers(const CountedFunction& function) const {
    return !function.loses_registers && !inputs.has_few_registers;
  }
  bool has(Refinement refinement) const { return !inputs.without.contains(refinement); }
  /// Returns the variable of a quantity, by id in the unit. It is measured until it is defined.
  VariableId variable_of(const Quantity& quantity) {
    const auto [entry, is_new] = plan->quantities.try_emplace(quantity, no_variable);
    if (is_new) entry->second = system.measure();
    return entry->second;
  }
};

}  // namespace lynxpp::ptx
