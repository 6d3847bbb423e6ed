#include "ptx/passes/counting/refine/leaving.h"

#include <algorithm>
#include <optional>

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_ways = 4;

class LeavingFinder {
 public:
  explicit LeavingFinder(const CountedFunction& function)
      : graph_(function.unit->graph),
        places_(function),
        loops_(function.analyses->loops()),
        dominators_(function.analyses->dominators()) {}

  std::optional<Leaving> find(const FunctionPlan& plan, std::uint32_t index) const {
    const LoopPlan& loop = plan.loops[index];
    const Loop& nest = loops_.loops()[loop.loop];
    if (nest.exiting.empty() || nest.exiting.size() > most_ways) return std::nullopt;
    Leaving leaving;
    const std::uint32_t counted = find_count(plan, index, leaving);
    if (counted == no_block) return std::nullopt;
    while ((std::size_t{1} << leaving.shift) < nest.exiting.size()) ++leaving.shift;
    std::vector<std::uint32_t> ways = nest.exiting;
    std::ranges::sort(ways, {}, [&](std::uint32_t block) { return dominators_.order_of(block); });
    for (const std::uint32_t block : ways) {
      if (!is_in_every_iteration(nest, loop.loop, block)) return std::nullopt;
      const std::vector<std::uint32_t>& next = graph_.blocks[block].successors;
      const std::uint32_t out = loops_.contains(loop.loop, next[0]) ? next[1] : next[0];
      const std::vector<CountPlace> places = places_.edge(block, out).places;
      if (places.size() != 1 || places[0].kind == CountPlace::Kind::switch_target) return std::nullopt;
      const auto position = static_cast<std::int32_t>(leaving.ways.size());
      // It has been counted once more than the lane has gone back when that comes before the way out.
      const bool has_run =
          dominators_.dominates(counted, block) && (leaving.counter == no_counter || counted != block);
      leaving.ways.push_back({block, places[0], position + 1 - (has_run ? 1 << leaving.shift : 0)});
    }
    leaving.usual = usual_way(leaving);
    if (dominators_.dominates(nest.header, loop.end)) return leaving;
    return find_entry(loop.loop, leaving) ? std::optional(leaving) : std::nullopt;
  }

 private:
  /// Sets what tells how often a lane has iterated. The block at whose start it is counted or, by a counter,
  /// at whose end; no_block: there is none.
  std::uint32_t find_count(const FunctionPlan& plan, std::uint32_t index, Leaving& leaving) const {
    const LoopPlan& loop = plan.loops[index];
    const auto iterations = std::ranges::find(plan.iterations, loop.loop, &Iterations::loop);
    if (iterations != plan.iterations.end()) {
      leaving.iterations = static_cast<std::uint32_t>(iterations - plan.iterations.begin());
      return iterations->block;
    }
    if (!plan.warps) return no_block;
    const std::vector<FlowEdge>& edges = plan.warps->placement.edges();
    for (std::uint32_t edge = 0; edge < edges.size(); ++edge) {
      const std::uint32_t counter = plan.warps->counters[edge];
      if (counter == no_counter || plan.counters[counter].maximum_in != index ||
          plan.counters[counter].places.empty())
        continue;
      leaving.counter = counter;
      return edges[edge].source;
    }
    return no_block;
  }

  /// One of two ways leads on, and no other iteration comes before the branch.
  bool is_in_every_iteration(const Loop& nest, std::uint32_t loop, std::uint32_t block) const {
    const BasicBlock& range = graph_.blocks[block];
    if (loops_.loop_of(block) != loop || range.leaves_function || range.successors.size() != 2 ||
        range.fall_through == no_block ||
        loops_.contains(loop, range.successors[0]) == loops_.contains(loop, range.successors[1]))
      return false;
    return std::ranges::all_of(nest.latches,
                               [&](std::uint32_t latch) { return dominators_.dominates(block, latch); });
  }

  /// That which would have to be marked within the loop.
  static std::uint32_t usual_way(const Leaving& leaving) {
    const auto inside = std::ranges::find_if(leaving.ways, [](const Leaving::Way& way) {
      return way.place.kind == CountPlace::Kind::guard_holds;
    });
    const auto last = static_cast<std::uint32_t>(leaving.ways.size() - 1);
    return inside == leaving.ways.end() ? last : static_cast<std::uint32_t>(inside - leaving.ways.begin());
  }

  bool find_entry(std::uint32_t loop, Leaving& leaving) const {
    const std::uint32_t header = loops_.loops()[loop].header;
    for (const std::uint32_t before : graph_.blocks[header].predecessors) {
      if (loops_.contains(loop, before) || !places_.is_reachable(before)) continue;
      const std::vector<CountPlace> places = places_.edge(before, header).places;
      if (leaving.entry || places.size() != 1 || places[0].kind == CountPlace::Kind::switch_target)
        return false;
      leaving.entry = places[0];
    }
    return leaving.entry.has_value();
  }

  const ControlFlowGraph& graph_;
  const EdgePlaces places_;
  const LoopNest& loops_;
  const DominatorTree& dominators_;
};

}  // namespace

void find_leaving(FunctionPlan& plan, const CountedFunction& function) {
  if (plan.loops.empty()) return;
  const LeavingFinder finder(function);
  for (std::uint32_t loop = 0; loop < plan.loops.size(); ++loop)
    plan.loops[loop].leaving = finder.find(plan, loop);
}

void count_division_by_leaving(FunctionPlan& plan, const CountedFunction& function, std::uint32_t block,
                               Counter& counter) {
  for (std::uint32_t index = 0; index < plan.loops.size(); ++index) {
    LoopPlan& loop = plan.loops[index];
    if (!loop.leaving ||
        std::ranges::find(loop.leaving->ways, block, &Leaving::Way::block) == loop.leaving->ways.end())
      continue;
    const std::uint32_t branch = counter.places[0].instruction;
    counter = EdgePlaces(function).block_start(loop.end);
    counter.places = {{CountPlace::Kind::leaves_apart, loop.end, branch, index}};
    counter.is_repeated = true;  // more than one at a time
    counter.counts_warps = true;
    loop.leaving->is_used = true;
    return;
  }
}

void find_lane_counts_by_leaving(FunctionPlan& plan, const CountedFunction& function) {
  if (!plan.warps) return;
  const std::vector<FlowEdge>& edges = plan.warps->placement.edges();
  for (std::uint32_t edge = 0; edge < edges.size(); ++edge) {
    const std::uint32_t index = plan.warps->counters[edge];
    if (index == no_counter || !plan.counters[index].is_maximum() || plan.counters[index].lane_count)
      continue;
    LoopPlan& loop = plan.loops[plan.counters[index].maximum_in];
    // A counter in the loop is there already.
    if (!loop.leaving || loop.leaving->counter == index ||
        (loop.leaving->counter != no_counter && !loop.leaving->is_used))
      continue;
    const std::vector<Leaving::Way>& ways = loop.leaving->ways;
    const auto way = std::ranges::find(ways, edges[edge].source, &Leaving::Way::block);
    if (way == ways.end() && edges[edge].target != function.analyses->loops().loops()[loop.loop].header)
      continue;
    LaneCount count;
    count.passed_way = static_cast<std::uint32_t>(way - ways.begin());
    plan.counters[index].lane_count = count;
    loop.leaving->is_used = true;
  }
}

void place_leaving(FunctionPlan& plan) {
  for (LoopPlan& loop : plan.loops) {
    if (!loop.leaving || !loop.leaving->is_used) continue;
    const bool is_zero =
        std::ranges::all_of(loop.leaving->ways, [](const Leaving::Way& way) { return way.number == 0; });
    if (!is_zero) loop.leaving->reg = plan.registers++;
  }
}

}  // namespace lynxpp::ptx
