#include "ptx/passes/count_lanes.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

class LaneTerms {
 public:
  /// `threads`: their flow, perhaps of counters that nobody has asked for.
  LaneTerms(FunctionPlan& plan, const FlowPlan& threads, const CountedFunction& function,
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
    LaneCount count{{}, static_cast<std::int32_t>(flows[edge])};
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

}  // namespace

void find_lane_terms(FunctionPlan& plan, const FlowPlan& threads, const CountedFunction& function) {
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
      terms->find(same, plan.counters[index]);
    }
  }
}

}  // namespace lynxpp::ptx
