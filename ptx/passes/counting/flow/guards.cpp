#include "ptx/passes/counting/flow/guards.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ptx/passes/memory/taking_lanes.h"

namespace lynxpp::ptx {
namespace {

using Kind = Quantity::Kind;

/// True if the block ends in a guarded branch or exit, and its fall-through block has no other predecessor.
bool guard_follows_from_flow(const CountedFunction& function, std::uint32_t block) {
  const BasicBlock& range = function.graph().blocks[block];
  if (range.fall_through == no_block || range.size() == 0) return false;
  const OpcodeClass kind = function.instructions()[range.end - 1].traits.kind;
  return (kind == OpcodeClass::branch || kind == OpcodeClass::exit) &&
         std::ranges::find(range.targets, range.fall_through) == range.targets.end();
}

/// A block and the value of a predicate in it. Guards with equal pairs hold for the same threads.
std::pair<std::uint32_t, ValueId> value_of_guard(const FunctionDraft& draft, std::uint32_t instruction) {
  const Instruction& guarded = draft.function.instructions()[instruction];
  const RegisterId reg = draft.function.analyses->registers().find(guarded.guard.predicate, instruction);
  return {draft.function.graph().block_of[instruction],
          reg == no_register ? no_value : draft.function.analyses->ssa().read_of(instruction, reg)};
}

CounterDraft counter_of_guard(const FunctionDraft& draft, std::uint32_t instruction,
                              Condition::Kind condition, VariableId variable) {
  const std::uint32_t block = draft.function.graph().block_of[instruction];
  CounterDraft counter = draft.sites.block_start(block);
  counter.increments = {{{ProgramPoint::Kind::before, block, instruction}, {condition, 0}}};
  counter.variable = variable;
  return counter;
}

CounterDraft counter_of_warps(const FunctionDraft& draft, std::uint32_t instruction,
                              Condition::Kind condition, VariableId variable) {
  CounterDraft counter = counter_of_guard(draft, instruction, condition, variable);
  counter.kind = CounterKind::elected;
  return counter;
}

/// Accesses with equal keys have the same lanes and the same surplus of bytes.
struct TakingKey {
  Quantity::Kind kind = Kind::thread_taking;
  std::uint32_t block = 0;
  std::uint32_t lanes = 0;
  std::uint32_t bytes = 0;         ///< if relevant
  std::pair<ValueId, bool> size;   ///< and its negation
  std::pair<ValueId, bool> guard;  ///< and its negation
  auto operator<=>(const TakingKey&) const = default;
};

constexpr bool is_surplus(Kind kind) { return kind == Kind::thread_surplus || kind == Kind::warp_surplus; }

/// nullopt: no other access is known to have the same lanes.
std::optional<TakingKey> key_of_taking(const FunctionDraft& draft, Kind kind, std::uint32_t instruction) {
  const Instruction& made = draft.function.instructions()[instruction];
  const std::optional<MemoryAccess> access = selecting_access(made);
  if (!access) return std::nullopt;
  const auto value_of = [&](std::string_view name) {
    const RegisterId reg = draft.function.analyses->registers().find(name, instruction);
    return reg == no_register ? no_value : draft.function.analyses->ssa().read_of(instruction, reg);
  };
  TakingKey key{kind, draft.function.graph().block_of[instruction], access->lanes, 0, {}, {}};
  if (is_surplus(kind)) key.bytes = access->bytes;
  if (made.guarded()) key.guard = {value_of(made.guard.predicate), made.guard.negated};
  if (access->size != nullptr) key.size = {value_of(access->size->name), access->size->negated};
  const bool is_known = (!made.guarded() || key.guard.first != no_value) &&
                        (access->size == nullptr ||
                         (access->size->kind == OperandKind::identifier && key.size.first != no_value));
  return is_known ? std::optional(key) : std::nullopt;
}

CounterDraft counter_of_taking(const FunctionDraft& draft, Kind kind, std::uint32_t instruction,
                               VariableId variable) {
  if (kind == Kind::warp_taking)
    return counter_of_warps(draft, instruction, Condition::Kind::takes, variable);
  CounterDraft counter = counter_of_guard(draft, instruction, Condition::Kind::takes, variable);
  if (is_surplus(kind)) counter.increments[0].amount = Increment::Amount::surplus;
  if (kind == Kind::warp_surplus) counter.kind = CounterKind::elected;
  return counter;
}

/// Plans the counters of accesses that select their lanes.
void plan_taking(PlanDraft& plan, FunctionDraft& draft) {
  std::map<TakingKey, VariableId> known;
  for (const Kind kind : {Kind::thread_taking, Kind::warp_taking, Kind::thread_surplus, Kind::warp_surplus}) {
    for (const std::uint32_t instruction : draft.demand.sites[kind]) {
      const VariableId own =
          plan.variable_of({kind, draft.function.unit->first_instruction + instruction, {}});
      const std::optional<TakingKey> key = key_of_taking(draft, kind, instruction);
      const auto found = key ? known.find(*key) : known.end();
      if (found != known.end()) {
        plan.system.redefine(own, {{found->second, 1}});
        continue;
      }
      if (key) known.emplace(*key, own);
      draft.counters.push_back(counter_of_taking(draft, kind, instruction, own));
    }
  }
}

}  // namespace

ThreadGuards find_thread_guards(FunctionDraft& draft) {
  ThreadGuards result;
  const ControlFlowGraph& graph = draft.function.graph();
  const std::set<std::uint32_t>& guards = draft.demand.sites[Kind::thread_guard];
  std::set<std::uint32_t>& blocks = draft.demand.sites[Kind::thread_block];
  for (const std::uint32_t instruction : guards) {
    const std::uint32_t block = graph.block_of[instruction];
    const bool is_last = graph.blocks[block].end == instruction + 1;
    if (!is_last || !guard_follows_from_flow(draft.function, block)) continue;
    result.exits.insert(block);
    blocks.insert(block);
  }
  const bool has_flow = !blocks.empty();
  std::map<std::pair<std::uint32_t, ValueId>, std::pair<std::size_t, bool>> known;  // and its negation
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
    plan.system.redefine(own, std::move(form));
  }
  for (const std::uint32_t instruction : draft.demand.sites[Kind::warp_guard]) {
    draft.counters.push_back(counter_of_warps(draft, instruction, Condition::Kind::guard,
                                              variable(Kind::warp_guard, instruction)));
  }
  for (const std::uint32_t instruction : draft.demand.sites[Kind::divergence]) {
    const std::uint32_t block = unit.graph().block_of[instruction];
    const VariableId own = variable(Kind::divergence, instruction);
    if (draft.sites.is_reachable(block) && draft.regions.diverges(block)) {
      draft.counters.push_back(counter_of_warps(draft, instruction, Condition::Kind::diverges, own));
    } else {
      // Warps do not diverge at a branch with a warp-uniform condition.
      plan.system.redefine(own, {});
    }
  }
  plan_taking(plan, draft);
}

}  // namespace lynxpp::ptx
