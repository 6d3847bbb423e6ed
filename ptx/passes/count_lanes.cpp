#include "ptx/passes/count_lanes.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

/// The edges into `target` that come from `source`.
std::vector<std::uint32_t> edges_between(const EdgePlacement& placement, std::uint32_t source,
                                         std::uint32_t target) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t edge = 0; edge < placement.edges().size(); ++edge) {
    const FlowEdge& each = placement.edges()[edge];
    if (each.source == source && each.target == target) found.push_back(edge);
  }
  return found;
}

class LaneTerms {
 public:
  LaneTerms(FunctionPlan& plan, const CountedFunction& function, const LoopPlan& loop)
      : plan_(plan),
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
    const EdgePlacement& placement = plan_.threads->placement;
    std::vector<std::uint64_t> flows(placement.edges().size());
    placement.solve(flows, EdgePlacement::Walk{start_, loop_.end});
    LaneCount count{{}, static_cast<std::int32_t>(flows[edge])};
    for (const std::uint32_t counted : placement.counted()) {
      if (!is_passed(placement.edges()[counted].source)) continue;
      std::ranges::fill(flows, 0);
      flows[counted] = 1;
      placement.solve(flows);
      const auto factor = static_cast<std::int64_t>(flows[edge]);
      if (factor == 0) continue;
      const std::uint32_t index = plan_.threads->counters[counted];
      if (index == no_counter || (factor != 1 && factor != -1)) return false;
      if (!is_zero_at_begin(plan_.counters[index])) return false;
      count.terms.push_back({index, factor < 0});
    }
    out.lane_count = std::move(count);
    return true;
  }

 private:
  bool is_passed(std::uint32_t block) const { return block < passed_.size() && passed_[block]; }

  /// A register or bit that nothing has raised before the loop's begin.
  bool is_zero_at_begin(const Counter& counter) const {
    if (counter.storage == Counter::Storage::memory || loops_.loop_of(loop_.begin.block) != no_loop ||
        loops_.is_irreducible(loop_.begin.block))
      return false;
    return std::ranges::all_of(counter.places, [&](const CountPlace& place) {
      return is_passed(place.block) ||
             (place.block == loop_.end && place.kind == CountPlace::Kind::block_start);
    });
  }

  const FunctionPlan& plan_;
  const ControlFlowGraph& graph_;
  const LoopNest& loops_;
  const LoopPlan& loop_;
  const bool is_behind_;
  const std::uint32_t start_;
  std::vector<bool> passed_;  ///< between the loop's begin and its end
};

}  // namespace

void find_lane_terms(FunctionPlan& plan, const CountedFunction& function) {
  if (!plan.threads || !plan.warps) return;
  const std::vector<FlowEdge>& edges = plan.warps->placement.edges();
  for (std::uint32_t loop = 0; loop < plan.loops.size(); ++loop) {
    std::optional<LaneTerms> terms;
    for (std::uint32_t edge = 0; edge < edges.size(); ++edge) {
      const std::uint32_t index = plan.warps->counters[edge];
      if (index == no_counter || plan.counters[index].maximum_in != loop) continue;
      const std::vector<std::uint32_t> same =
          edges_between(plan.threads->placement, edges[edge].source, edges[edge].target);
      if (same.size() != 1) continue;
      if (!terms) terms.emplace(plan, function, plan.loops[loop]);
      terms->find(same.front(), plan.counters[index]);
    }
  }
}

}  // namespace lynxpp::ptx
