#include "ptx/passes/counting/flow/guards.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lynxpp::ptx {
namespace {

using Kind = Quantity::Kind;

/// Ends in a branch or exit with a guard, and the block after it is only reached by falling through.
bool guard_follows_from_flow(const CountedFunction& function, std::uint32_t block) {
  const BasicBlock& range = function.graph().blocks[block];
  if (range.fall_through == no_block || range.size() == 0) return false;
  const OpcodeClass kind = function.instructions()[range.end - 1].traits.kind;
  return (kind == OpcodeClass::branch || kind == OpcodeClass::exit) &&
         std::ranges::find(range.targets, range.fall_through) == range.targets.end();
}

/// A block and the value of a predicate in it. Guards with the same one hold for the same threads.
std::pair<std::uint32_t, ValueId> value_of_guard(const FunctionDraft& draft, std::uint32_t instruction) {
  const Instruction& guarded = draft.function.instructions()[instruction];
  const RegisterId reg = draft.function.analyses->registers().find(guarded.guard.predicate, instruction);
  return {draft.function.graph().block_of[instruction],
          reg == no_register ? no_value : draft.function.analyses->ssa().read_of(instruction, reg)};
}

CounterDraft counter_of_guard(const FunctionDraft& draft, std::uint32_t instruction,
                              Condition::Kind condition, VariableId variable) {
  const std::uint32_t block = draft.function.graph().block_of[instruction];
  CounterDraft counter = draft.places.block_start(block);
  counter.increments = {{{Place::Kind::before, block, instruction}, {condition, 0}}};
  counter.variable = variable;
  return counter;
}

CounterDraft counter_of_warps(const FunctionDraft& draft, std::uint32_t instruction,
                              Condition::Kind condition, VariableId variable) {
  CounterDraft counter = counter_of_guard(draft, instruction, condition, variable);
  counter.counts_warps = true;
  counter.is_once = !draft.once.empty() && draft.once[draft.function.graph().block_of[instruction]];
  return counter;
}

}  // namespace

ThreadGuards find_thread_guards(FunctionDraft& draft) {
  ThreadGuards result;
  const ControlFlowGraph& graph = draft.function.graph();
  const std::set<std::uint32_t>& guards = draft.demand.places[Kind::thread_guard];
  std::set<std::uint32_t>& blocks = draft.demand.places[Kind::thread_block];
  for (const std::uint32_t instruction : guards) {
    const std::uint32_t block = graph.block_of[instruction];
    const bool is_last = graph.blocks[block].end == instruction + 1;
    if (!is_last || !guard_follows_from_flow(draft.function, block)) continue;
    result.exits.insert(block);
    blocks.insert(block);
  }
  const bool has_flow = !blocks.empty();
  std::map<std::pair<std::uint32_t, ValueId>, std::pair<std::size_t, bool>> known;  // and whether negated
  for (const std::uint32_t instruction : guards) {
    const std::uint32_t block = graph.block_of[instruction];
    if (result.exits.contains(block) && graph.blocks[block].end == instruction + 1) continue;
    ThreadGuards::Guard guard{instruction, result.guards.size(), false};
    const auto value = value_of_guard(draft, instruction);
    const bool is_negated = draft.function.instructions()[instruction].guard.negated;
    const auto found = value.second == no_value ? known.end() : known.find(value);
    if (found != known.end() && (found->second.second == is_negated || has_flow)) {
      guard.counted = found->second.first;
      guard.is_opposite = found->second.second != is_negated;
      if (guard.is_opposite) blocks.insert(block);
    } else if (value.second != no_value) {
      known.try_emplace(value, guard.counted, is_negated);
    }
    result.guards.push_back(guard);
  }
  return result;
}

void plan_guards(PlanDraft& plan, FunctionDraft& draft, const ThreadGuards& threads) {
  const FunctionUnit& unit = *draft.function.unit;
  const auto variable = [&](Kind kind, std::uint32_t instruction) {
    return plan.variable_of({kind, unit.first_instruction + instruction, {}});
  };
  for (std::size_t i = 0; i < threads.guards.size(); ++i) {
    const ThreadGuards::Guard& guard = threads.guards[i];
    const VariableId own = variable(Kind::thread_guard, guard.instruction);
    if (guard.counted == i) {
      draft.counters.push_back(counter_of_guard(draft, guard.instruction, Condition::Kind::guard, own));
      continue;
    }
    const VariableId counted = variable(Kind::thread_guard, threads.guards[guard.counted].instruction);
    const std::uint32_t block = unit.first_block + unit.graph().block_of[guard.instruction];
    LinearForm form{{counted, 1}};
    if (guard.is_opposite)
      form = {{plan.variable_of({Kind::thread_block, block, {}}), 1}, {counted, minus_one}};
    plan.system().redefine(own, std::move(form));
  }
  for (const std::uint32_t instruction : draft.demand.places[Kind::warp_guard]) {
    draft.counters.push_back(counter_of_warps(draft, instruction, Condition::Kind::guard,
                                              variable(Kind::warp_guard, instruction)));
  }
  for (const std::uint32_t instruction : draft.demand.places[Kind::divergence]) {
    const std::uint32_t block = unit.graph().block_of[instruction];
    const VariableId own = variable(Kind::divergence, instruction);
    if (draft.places.is_reachable(block) && draft.regions.diverges(block)) {
      draft.counters.push_back(counter_of_warps(draft, instruction, Condition::Kind::diverges, own));
    } else {
      // A branch whose outcome is uniform in the warp divides none.
      plan.system().redefine(own, {});
    }
  }
}

}  // namespace lynxpp::ptx
