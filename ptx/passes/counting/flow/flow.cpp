#include "ptx/passes/counting/flow/flow.h"

#include <algorithm>
#include <utility>

#include "ptx/passes/cost_model.h"
#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t short_end = 4;  // instructions

}  // namespace

EdgeSites::EdgeSites(const CountedFunction& function)
    : function_(function),
      graph_(function.graph()),
      instructions_(function.instructions()),
      likely_(function),
      targets_(graph_.blocks.size()),
      sources_(graph_.blocks.size()) {
  ++sources_[0];  // the function's entry
  for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
    if (!is_reachable(block)) continue;
    targets_[block] = graph_.blocks[block].successors;
    for (const std::uint32_t successor : targets_[block]) ++sources_[successor];
    if (graph_.blocks[block].leaves_function || function.call_may_exit[block])
      targets_[block].push_back(outside);
  }
}

bool EdgeSites::is_reachable(std::uint32_t block) const {
  return function_.analyses->dominators().is_reachable(block);
}

bool EdgeSites::ends_in_call(std::uint32_t block) const {
  const BasicBlock& range = graph_.blocks[block];
  return range.size() != 0 && instructions_[range.end - 1].traits.kind == OpcodeClass::call;
}

/// Returns the number of loops around the block.
std::uint32_t EdgeSites::depth(std::uint32_t block) const {
  const LoopNest& loops = function_.analyses->loops();
  return loops.depth_of(block) + (loops.is_irreducible(block) ? 1 : 0);
}

double EdgeSites::frequency(std::uint32_t block) const { return cost::executions_in_loops(depth(block)); }

bool EdgeSites::is_short_end(std::uint32_t block) const {
  return block == outside || (graph_.blocks[block].successors.empty() &&
                              graph_.blocks[block].size() <= short_end && !repeats(block));
}

/// Assumes that most threads have work to do, unless this requires two values to be equal. A loop exit does
/// not count as an early exit.
bool EdgeSites::is_early_exit(std::uint32_t source, std::uint32_t target) const {
  if (repeats(source)) return false;
  const auto is_short = [&](std::uint32_t each) { return is_short_end(each); };
  const std::vector<std::uint32_t>& targets = targets_[source];
  if (std::ranges::none_of(targets, is_short) || std::ranges::all_of(targets, is_short)) return false;
  if (targets.size() == 2) {
    for (const std::uint32_t each : targets) {
      if (likely_.needs_equality(source, each)) return each == target;
    }
  }
  return is_short_end(target);
}

CounterDraft EdgeSites::block_start(std::uint32_t block) const {
  CounterDraft counter;
  counter.increments = {{{ProgramPoint::Kind::block_start, block, 0}, {}}};
  counter.weight = frequency(block);
  counter.repeats = repeats(block);
  return counter;
}

CounterDraft EdgeSites::block_end(std::uint32_t block) const {
  CounterDraft counter = block_start(block);
  counter.increments[0].point.kind = ProgramPoint::Kind::block_end;
  return counter;
}

CounterDraft EdgeSites::entry() const {
  CounterDraft counter;
  counter.increments = {{{ProgramPoint::Kind::entry, 0, 0}, {}}};
  return counter;
}

CounterDraft EdgeSites::edge(std::uint32_t source, std::uint32_t target) const {
  LYNXPP_CHECK(target != outside || !function_.call_may_exit[source], "an exit in a callee has no counter");
  CounterDraft counter;
  counter.increments = {increment(source, target)};
  const bool stays = target != outside;
  counter.weight = frequency(source);
  // All lanes execute a counting instruction before a branch, whichever edge they take.
  const bool is_before_branch = counter.increments[0].condition.kind != Condition::Kind::always;
  if (stays && !is_before_branch) counter.weight = std::min(counter.weight, frequency(target));
  if (is_early_exit(source, target)) counter.weight *= cost::early_exit;
  counter.repeats = stays && repeats(source) && repeats(target);
  return counter;
}

/// On a critical edge, counts on the fall-through path, or before the branch under the branch's condition.
Increment EdgeSites::increment(std::uint32_t source, std::uint32_t target) const {
  if (targets_[source].size() == 1) return {{ProgramPoint::Kind::block_end, source, 0}, {}};
  if (target != outside && has_one_source(target)) return {{ProgramPoint::Kind::block_start, target, 0}, {}};
  const BasicBlock& block = graph_.blocks[source];
  const std::uint32_t last = block.end - 1;
  const Increment falls{{ProgramPoint::Kind::after, source, last}, {}};
  const Increment jumps{{ProgramPoint::Kind::before, source, last}, {Condition::Kind::guard, 0}};
  switch (instructions_[last].traits.kind) {
    case OpcodeClass::exit: return target == outside ? jumps : falls;
    case OpcodeClass::branch: break;
    default: return falls;
  }
  if (std::ranges::find(block.targets, target) == block.targets.end()) return falls;
  if (instructions_[last].op() != Op::brx)
    return target == outside || target == block.fall_through ? falls : jumps;
  return {{ProgramPoint::Kind::before, source, last}, {Condition::Kind::switch_target, target}};
}

FlowGraph thread_flow(const CountedFunction& function, const EdgeSites& sites) {
  FlowGraph flow;
  const auto blocks = static_cast<std::uint32_t>(function.graph().blocks.size());
  flow.nodes = blocks;
  CountedEdge entry{{blocks, 0}, sites.entry(), true};
  entry.flow.is_known = function.entry_is_known;
  flow.edges.push_back(std::move(entry));
  for (std::uint32_t block = 0; block < blocks; ++block) {
    for (const std::uint32_t target : sites.targets(block)) {
      const bool leaves = target == EdgeSites::outside;
      CountedEdge edge{{block, leaves ? blocks : target}, {}, false};
      edge.flow.can_count = !leaves || !function.call_may_exit[block];
      if (edge.flow.can_count) edge.counter = sites.edge(block, target);
      edge.flow.weight = edge.counter.weight;
      flow.edges.push_back(std::move(edge));
    }
  }
  return flow;
}

}  // namespace lynxpp::ptx
