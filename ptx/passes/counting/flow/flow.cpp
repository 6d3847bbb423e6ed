#include "ptx/passes/counting/flow/flow.h"

#include <algorithm>
#include <cmath>

#include "ptx/passes/counting/flow/likely_ways.h"
#include "ptx/passes/counting/refine/iterations.h"

namespace lynxpp::ptx {
namespace {

constexpr double loop_iterations = 8;
constexpr double rare = 0.1;
constexpr std::uint32_t deepest = 6;
constexpr std::uint32_t short_end = 4;  // instructions

bool is_repeated(const CountedFunction& function, std::uint32_t block) {
  const LoopNest& loops = function.analyses->loops();
  return loops.depth_of(block) != 0 || loops.is_irreducible(block);
}

double frequency(const CountedFunction& function, std::uint32_t block) {
  const LoopNest& loops = function.analyses->loops();
  const std::uint32_t depth = loops.depth_of(block) + (loops.is_irreducible(block) ? 1 : 0);
  return std::pow(loop_iterations, std::min(depth, deepest));
}

}  // namespace

Counter counter_at_start(const CountedFunction& function, std::uint32_t block) {
  Counter counter;
  counter.places = {{CountPlace::Kind::block_start, block, 0, 0}};
  counter.weight = frequency(function, block);
  counter.is_repeated = is_repeated(function, block);
  return counter;
}

EdgePlaces::EdgePlaces(const CountedFunction& function)
    : function_(function),
      graph_(function.unit->graph),
      instructions_(function.unit->function->body->instructions),
      ways_(graph_.blocks.size()),
      ways_in_(graph_.blocks.size()) {
  ++ways_in_[0];  // from outside
  for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
    if (!is_reachable(block)) continue;
    ways_[block] = graph_.blocks[block].successors;
    for (const std::uint32_t successor : ways_[block]) ++ways_in_[successor];
    if (graph_.blocks[block].leaves_function || function.call_may_exit[block]) ways_[block].push_back(leaves);
  }
}

bool EdgePlaces::is_reachable(std::uint32_t block) const {
  return function_.analyses->dominators().is_reachable(block);
}

bool EdgePlaces::ends_in_call(std::uint32_t block) const {
  const BasicBlock& range = graph_.blocks[block];
  return range.size() != 0 && instructions_[range.end - 1].traits.kind == OpcodeClass::call;
}

bool EdgePlaces::is_short_end(std::uint32_t block) const {
  return block == leaves || (graph_.blocks[block].successors.empty() &&
                             graph_.blocks[block].size() <= short_end && !is_repeated(function_, block));
}

/// An early way out: most threads have something to do, unless two numbers have to be equal for it. The way
/// out of a loop is none.
bool EdgePlaces::is_rare(std::uint32_t source, std::uint32_t target) const {
  if (is_repeated(function_, source)) return false;
  const auto is_short = [&](std::uint32_t way) { return is_short_end(way); };
  if (std::ranges::none_of(ways_[source], is_short) || std::ranges::all_of(ways_[source], is_short))
    return false;
  for (const std::uint32_t way : ways_[source]) {
    if (needs_equality(source, way)) return way == target;
  }
  return is_short_end(target);
}

/// Whether threads go from `source` to `target` only when two numbers are equal, and otherwise in any case.
bool EdgePlaces::needs_equality(std::uint32_t source, std::uint32_t target) const {
  const BasicBlock& block = graph_.blocks[source];
  if (block.size() == 0 || ways_[source].size() != 2) return false;
  const Instruction& last = instructions_[block.end - 1];
  if (!last.guarded()) return false;
  const bool jumps = target == leaves ? last.traits.kind == OpcodeClass::exit
                                      : std::ranges::find(block.targets, target) != block.targets.end();
  if (!likely_) likely_ = std::make_shared<const LikelyWays>(function_);
  Guard goes = last.guard;
  if (!jumps) goes.negated = !goes.negated;
  Guard stays = goes;
  stays.negated = !stays.negated;
  return !likely_->is_likely(goes) && likely_->is_likely(stays);
}

Counter EdgePlaces::block_end(std::uint32_t block) const {
  Counter counter = block_start(block);
  counter.places[0].kind = CountPlace::Kind::block_end;
  return counter;
}

Counter EdgePlaces::entry() const {
  Counter counter;
  counter.places = {{CountPlace::Kind::entry, 0, 0, 0}};
  return counter;
}

bool EdgePlaces::can_count(std::uint32_t source, std::uint32_t target) const {
  return target != leaves || !function_.call_may_exit[source];
}

Counter EdgePlaces::edge(std::uint32_t source, std::uint32_t target) const {
  Counter counter;
  counter.places = places(source, target);
  const bool goes_on = target != leaves;
  counter.weight = frequency(function_, source);
  // Before a branch all lanes run the instruction that counts those that take it.
  const CountPlace::Kind kind = counter.places[0].kind;
  const bool is_before_branch =
      kind == CountPlace::Kind::guard_holds || kind == CountPlace::Kind::switch_target;
  if (goes_on && !is_before_branch) counter.weight = std::min(counter.weight, frequency(function_, target));
  if (is_rare(source, target)) counter.weight *= rare;
  counter.is_repeated = goes_on && is_repeated(function_, source) && is_repeated(function_, target);
  return counter;
}

std::vector<CountPlace> EdgePlaces::places(std::uint32_t source, std::uint32_t target) const {
  if (ways_[source].size() == 1) return {{CountPlace::Kind::block_end, source, 0, 0}};
  if (target != leaves && ways_in_[target] == 1) return {{CountPlace::Kind::block_start, target, 0, 0}};
  const BasicBlock& block = graph_.blocks[source];
  const std::uint32_t last = block.end - 1;
  const CountPlace fall_through{CountPlace::Kind::fall_through, source, 0, 0};
  const CountPlace guard_holds{CountPlace::Kind::guard_holds, source, last, 0};
  switch (instructions_[last].traits.kind) {
    case OpcodeClass::exit: return {target == leaves ? guard_holds : fall_through};
    case OpcodeClass::branch: break;
    default: return {fall_through};
  }
  const bool falls = target == leaves || target == block.fall_through;
  const bool jumps = std::ranges::find(block.targets, target) != block.targets.end();
  if (!jumps) return {{fall_through}};
  if (!instructions_[last].opcode.starts_with("brx")) return {falls ? fall_through : guard_holds};
  return {{CountPlace::Kind::switch_target, source, last, target}};
}

FlowGraphEdges thread_flow(const CountedFunction& function) {
  const EdgePlaces places(function);
  const auto outside = static_cast<std::uint32_t>(function.unit->graph.blocks.size());
  FlowGraphEdges flow;
  std::vector<CountedEdge>& edges = flow.edges;
  CountedEdge entry{{outside, 0}, places.entry(), true};
  entry.flow.is_known = function.entry_is_known;
  edges.push_back(std::move(entry));
  const LikelyWays likely(function);
  for (std::uint32_t block = 0; block < outside; ++block) {
    const std::uint32_t body = likely.body_within_bounds(block);
    for (const std::uint32_t way : places.ways(block)) {
      CountedEdge edge{{block, way == EdgePlaces::leaves ? outside : way}, {}, false};
      edge.flow.can_count = places.can_count(block, way);
      if (edge.flow.can_count) edge.counter = places.edge(block, way);
      // Those that go around are few, and most warps have nothing to add for them when they leave.
      if (body != no_block && way != body) edge.counter.weight *= rare;
      edge.flow.weight = edge.counter.weight;
      edges.push_back(std::move(edge));
    }
  }
  std::vector<ChosenIterations> all;
  for (std::uint32_t index = 0; index < function.iterations.size(); ++index) all.push_back({index, false});
  count_by_iterations(function, all, false, flow);
  return flow;
}

bool guard_follows_from_flow(const FunctionUnit& unit, std::uint32_t block) {
  const BasicBlock& range = unit.graph.blocks[block];
  if (range.fall_through == no_block || range.size() == 0) return false;
  const OpcodeClass kind = unit.function->body->instructions[range.end - 1].traits.kind;
  return (kind == OpcodeClass::branch || kind == OpcodeClass::exit) &&
         std::ranges::find(range.targets, range.fall_through) == range.targets.end();
}

}  // namespace lynxpp::ptx
