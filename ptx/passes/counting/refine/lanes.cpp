#include "ptx/passes/counting/refine/lanes.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

class LaneTerms {
 public:
  /// `threads`: their flow, perhaps of counters that nobody has asked for.
  LaneTerms(const FunctionPlan& plan, const FlowPlan& threads, const CountedFunction& function,
            const LoopPlan& loop)
      : plan_(plan),
        threads_(threads),
        graph_(function.unit->graph),
        loops_(function.analyses->loops()),
        loop_(loop),
        is_behind_(loop.begin.kind == CountPlace::Kind::fall_through),
        start_(is_behind_ ? graph_.blocks[loop.begin.block].fall_through : loop.begin.block),
        passed_(graph_.blocks.size()) {
    std::vector<std::uint32_t> pending{start_};
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      if (block == loop.end || passed_[block]) continue;
      passed_[block] = true;
      pending.insert(pending.end(), graph_.blocks[block].successors.begin(),
                     graph_.blocks[block].successors.end());
    }
  }

  /// How often a lane takes the edge of the threads' flow; false: not known from registers.
  bool find(std::uint32_t edge, Counter& out) const {
    const EdgePlacement& placement = threads_.placement;
    std::vector<std::uint64_t> flows(placement.edges().size());
    const std::uint32_t from = is_behind_ ? threads_.fronts[start_] : start_;
    placement.solve(flows, EdgePlacement::Walk{from, threads_.fronts[loop_.end]});
    LaneCount count;
    count.constant = static_cast<std::int32_t>(flows[edge]);
    for (const std::uint32_t counted : placement.counted()) {
      const std::optional<std::uint32_t> iterations = iterations_of(placement.edges()[counted]);
      if (!is_passed(iterations ? plan_.iterations[*iterations].block : placement.edges()[counted].source))
        continue;
      std::ranges::fill(flows, 0);
      flows[counted] = 1;
      placement.solve(flows);
      const auto factor = static_cast<std::int64_t>(flows[edge]);
      if (factor == 0) continue;
      const std::uint32_t index = threads_.counters[counted];
      if (factor != 1 && factor != -1) return false;
      if (iterations && plan_.iterations[*iterations].loop == loop_.loop) {
        count.terms.push_back({*iterations, factor < 0, true});
        continue;
      }
      if (index == no_counter) return false;
      if (!is_zero_at_begin(plan_.counters[index])) return false;
      count.terms.push_back({index, factor < 0, false});
    }
    out.lane_count = std::move(count);
    return true;
  }

  /// Adds the counters that find() would name, wherever they are kept.
  void name_counters(std::uint32_t edge, std::set<std::uint32_t>& named) const {
    const EdgePlacement& placement = threads_.placement;
    std::vector<std::uint64_t> factors(placement.edges().size());
    factors[edge] = 1;
    placement.express_by_counted(factors);
    for (const std::uint32_t counted : placement.counted()) {
      const std::uint32_t index = threads_.counters[counted];
      if (factors[counted] != 0 && index != no_counter) named.insert(index);
    }
  }

 private:
  /// Which the edge is counted by.
  std::optional<std::uint32_t> iterations_of(const FlowEdge& edge) const {
    const auto blocks = static_cast<std::uint32_t>(graph_.blocks.size());
    const bool is_from_front = edge.source >= blocks && edge.source - blocks < plan_.iterations.size();
    return is_from_front ? std::optional(edge.source - blocks) : std::nullopt;
  }

  bool is_passed(std::uint32_t block) const { return block < passed_.size() && passed_[block]; }

  /// A register or bit that nothing has raised before the loop's begin.
  bool is_zero_at_begin(const Counter& counter) const {
    if (counter.storage == Counter::Storage::memory || loops_.loop_of(loop_.begin.block) != no_loop ||
        loops_.is_irreducible(loop_.begin.block))
      return false;
    return std::ranges::all_of(counter.places, [&](const CountPlace& place) {
      return is_passed(place.block) ||
             (place.block == loop_.end &&
              (place.kind == CountPlace::Kind::block_start || place.kind == CountPlace::Kind::iterations));
    });
  }

  const FunctionPlan& plan_;
  const FlowPlan& threads_;
  const ControlFlowGraph& graph_;
  const LoopNest& loops_;
  const LoopPlan& loop_;
  const bool is_behind_;
  const std::uint32_t start_;
  std::vector<bool> passed_;  ///< between the loop's begin and its end
};

/// Calls `action` with the terms of the loop, the threads' edge and the counter of each edge of the warps'
/// flow that lanes count, where threads have one like it.
template <typename Action>
void for_counted_by_lanes(const FunctionPlan& plan, const FlowPlan& threads, const CountedFunction& function,
                          const Action& action) {
  if (!plan.warps) return;
  const std::vector<FlowEdge>& edges = plan.warps->placement.edges();
  for (std::uint32_t loop = 0; loop < plan.loops.size(); ++loop) {
    std::optional<LaneTerms> terms;
    for (std::uint32_t edge = 0; edge < edges.size(); ++edge) {
      const std::uint32_t index = plan.warps->counters[edge];
      if (index == no_counter || plan.counters[index].maximum_in != loop) continue;
      const std::uint32_t same = threads.edge_between(edges[edge].source, edges[edge].target);
      if (same == no_counter) continue;
      if (!terms) terms.emplace(plan, threads, function, plan.loops[loop]);
      action(*terms, same, index);
    }
  }
}

}  // namespace

void find_lane_terms(FunctionPlan& plan, const FlowPlan& threads, const CountedFunction& function) {
  for_counted_by_lanes(plan, threads, function,
                       [&](const LaneTerms& terms, std::uint32_t edge, std::uint32_t index) {
                         terms.find(edge, plan.counters[index]);
                       });
}

std::set<std::uint32_t> counters_of_lanes(const FunctionPlan& plan, const CountedFunction& function) {
  std::set<std::uint32_t> named;
  if (plan.threads) {
    for_counted_by_lanes(
        plan, *plan.threads, function,
        [&](const LaneTerms& terms, std::uint32_t edge, std::uint32_t) { terms.name_counters(edge, named); });
  }
  std::set<std::vector<CountPlace>> places;
  for (const Counter& counter : plan.counters) {
    if (counter.is_maximum()) places.insert(counter.places);
  }
  for (std::uint32_t index = 0; index < plan.counters.size(); ++index) {
    if (places.contains(plan.counters[index].places)) named.insert(index);
  }
  return named;
}

}  // namespace lynxpp::ptx
