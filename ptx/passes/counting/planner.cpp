#include "ptx/passes/counting/planner.h"

#include <iterator>
#include <optional>
#include <ranges>
#include <unordered_map>

#include "ptx/passes/counting/draft.h"
#include "ptx/passes/counting/flow/guards.h"
#include "ptx/passes/counting/refine/columns.h"
#include "ptx/passes/counting/storage/assign.h"

namespace lynxpp::ptx {
namespace {

using Kind = Quantity::Kind;

/// Builds the flow graphs of one function and defines the requested quantities.
class FunctionPlanner {
 public:
  FunctionPlanner(PlanDraft& plan, FunctionDraft& draft)
      : plan_(plan), draft_(draft), unit_(*draft.function.unit) {}

  Status run() {
    find_facts();
    const ThreadGuards guards = find_thread_guards(draft_);
    if (!plan_flow(Kind::thread_block, guards.exits) || !plan_flow(Kind::warp_block, {}))
      return failure("the executions of " + unit_.function->name + " cannot be counted");
    plan_guards(plan_, draft_, guards);
    return success();
  }

 private:
  void find_facts() {
    const bool keeps_registers = !plan_.plan->is_wide && plan_.keeps_registers(draft_.function);
    draft_.facts.counts_complements = plan_.has(Refinement::complements);
    if (keeps_registers && plan_.plan->sums_lanes && plan_.has(Refinement::lane_maxima))
      draft_.facts.divergent_loops = draft_.regions.divergent_loops();
  }

  FlowGraph draw(Kind kind) {
    if (kind == Kind::thread_block) return thread_flow(draft_.function, draft_.sites);
    return warp_flow(draft_.function, draft_.sites, draft_.regions, draft_.facts);
  }

  /// Chooses counters for the edges off a spanning tree. Returns false if edges without counters form a
  /// cycle.
  bool plan_flow(Kind kind, const std::set<std::uint32_t>& exits) {
    if (draft_.demand.sites[kind].empty()) return true;
    FlowGraph flow = draw(kind);
    std::vector<FlowEdge> edges;
    for (const CountedEdge& edge : flow.edges) edges.push_back(edge.flow);
    const std::optional<EdgePlacement> placement = EdgePlacement::make(flow.nodes, std::move(edges));
    if (placement) define_flow(flow, *placement, kind, exits);
    return placement.has_value();
  }

  /// For threads, also requests the fall-through edges of the blocks in `exits`.
  void define_flow(FlowGraph& flow, const EdgePlacement& placement, Kind kind,
                   const std::set<std::uint32_t>& exits) {
    LinearSystem& system = plan_.system;
    std::vector<VariableId> variables;
    for (std::size_t i = 0; i < flow.edges.size(); ++i) variables.push_back(system.measure());
    for (const EdgePlacement::Definition& definition : placement.definitions()) {
      LinearForm form;
      for (const auto& [edge, is_negative] : definition.terms)
        form.push_back({variables[edge], is_negative ? minus_one : 1});
      system.redefine(variables[definition.edge], std::move(form));
    }
    for (std::size_t i = 0; i < flow.edges.size(); ++i) {
      if (flow.edges[i].is_entry && flow.edges[i].flow.is_known)
        system.redefine(variables[i], entry_form(kind));
    }
    for (const std::uint32_t edge : placement.counted()) {
      VariableId counted = variables[edge];
      if (flow.edges[edge].is_complement) {
        counted = system.measure();
        system.redefine(variables[edge], {{plan_.plan->launched_warps, 1}, {counted, minus_one}});
      }
      CounterDraft& counter = draft_.counters.emplace_back(std::move(flow.edges[edge].counter));
      counter.variable = counted;
    }
    define_blocks(flow, kind, variables);
    std::unordered_multimap<std::uint32_t, std::size_t> edges_from;  // of the blocks in `exits`
    for (std::size_t i = 0; i < flow.edges.size(); ++i) {
      if (exits.contains(flow.edges[i].flow.source)) edges_from.emplace(flow.edges[i].flow.source, i);
    }
    for (const std::uint32_t block : exits) define_guard_at_end(flow, block, edges_from, variables);
  }

  LinearForm entry_form(Kind kind) {
    if (draft_.function.is_kernel())
      return {{kind == Kind::thread_block ? plan_.plan->launched_threads : plan_.plan->launched_warps, 1}};
    LinearForm form;
    for (const auto& [caller, block] : draft_.function.callers) {
      FunctionDraft& draft = plan_.functions[caller];
      draft.demand.sites[kind].insert(block);
      form.push_back({plan_.variable_of({kind, draft.function.unit->first_block + block, {}}), 1});
    }
    return form;
  }

  void define_blocks(const FlowGraph& flow, Kind kind, const std::vector<VariableId>& variables) {
    std::map<std::uint32_t, LinearForm> executions;
    for (const std::uint32_t block : draft_.demand.sites[kind]) executions[block];
    for (std::size_t i = 0; i < flow.edges.size(); ++i) {
      const auto block = executions.find(flow.edges[i].flow.target);
      if (block != executions.end()) block->second.push_back({variables[i], 1});
    }
    for (auto& [block, form] : executions)
      plan_.system.redefine(plan_.variable_of({kind, unit_.first_block + block, {}}), std::move(form));
  }

  /// Defines the guard of the block's last instruction: it holds for threads that do not fall through.
  void define_guard_at_end(const FlowGraph& flow, std::uint32_t block,
                           const std::unordered_multimap<std::uint32_t, std::size_t>& edges_from,
                           const std::vector<VariableId>& variables) {
    const BasicBlock& range = unit_.graph().blocks[block];
    const Quantity guard{Kind::thread_guard, unit_.first_instruction + range.end - 1, {}};
    LinearForm form;
    // An unreachable block has no edges.
    if (draft_.sites.is_reachable(block)) {
      form.push_back({plan_.variable_of({Kind::thread_block, unit_.first_block + block, {}}), 1});
      const auto [first, last] = edges_from.equal_range(block);
      for (auto edge = first; edge != last; ++edge) {
        if (flow.edges[edge->second].flow.target == range.fall_through)
          form.push_back({variables[edge->second], minus_one});
      }
    }
    plan_.system.redefine(plan_.variable_of(guard), std::move(form));
  }

  PlanDraft& plan_;
  FunctionDraft& draft_;
  const FunctionUnit& unit_;
};

void share_out_demand(PlanDraft& draft) {
  std::map<std::uint32_t, FunctionDraft*> by_block, by_instruction;
  for (FunctionDraft& function : draft.functions) {
    const FunctionUnit& unit = *function.function.unit;
    if (!unit.graph().blocks.empty()) by_block[unit.first_block] = &function;
    if (!unit.graph().block_of.empty()) by_instruction[unit.first_instruction] = &function;
  }
  for (const CountUse& use : draft.request.uses) {
    const Quantity& quantity = use.quantity;
    if (draft.plan->quantities.contains(quantity)) continue;
    draft.variable_of(quantity);
    const bool is_tally = quantity.kind == Kind::tally;
    const bool is_of_block = quantity.kind == Kind::thread_block || quantity.kind == Kind::warp_block;
    const std::uint32_t id = is_tally ? quantity.tally.instruction : quantity.id;
    FunctionDraft& function = *std::prev((is_of_block ? by_block : by_instruction).upper_bound(id))->second;
    if (is_tally) {
      function.demand.tallies.push_back(quantity.tally);
      continue;
    }
    const FunctionUnit& unit = *function.function.unit;
    const std::uint32_t first = is_of_block ? unit.first_block : unit.first_instruction;
    function.demand.sites[quantity.kind].insert(id - first);
  }
}

}  // namespace

Result<std::shared_ptr<const CountPlan>> plan_counting(const CountInputs& inputs,
                                                       const CountRequest& request) {
  PlanDraft draft(inputs, request);
  for (CountedFunction& function : find_counted_functions(inputs.module, inputs.reached))
    draft.functions.emplace_back(std::move(function));
  share_out_demand(draft);
  // Callees first, because they request the counts of their call sites from their callers.
  for (FunctionDraft& function : draft.functions | std::views::reverse) {
    if (Status planned = FunctionPlanner(draft, function).run(); !planned) return planned.error();
  }
  if (!draft.system.solve()) return failure("the counts of the kernel depend on each other");
  if (draft.has(Refinement::unused_counters)) drop_unused_counters(draft);
  if (draft.has(Refinement::equal_columns)) merge_equal_counters(draft);
  assign_storage(draft);
  std::optional<SolvedSystem> solved = std::move(draft.system).solve();
  if (!solved) return failure("the counters of the kernel depend on each other");
  draft.plan->system = std::move(*solved);
  return std::shared_ptr<const CountPlan>(draft.plan);
}

}  // namespace lynxpp::ptx
