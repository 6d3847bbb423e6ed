#include "ptx/passes/counting/flow/warp_flow.h"

#include <algorithm>
#include <utility>

#include "ptx/analysis/flow/walk.h"
#include "ptx/analysis/flow/warp_convergence.h"
#include "ptx/passes/cost_model.h"
#include "ptx/passes/counting/refine/complements.h"

namespace lynxpp::ptx {
namespace {

/// True if all lanes of a warp execute a block and its post-dominator equally often. Lanes that wait between
/// them wait for other warps.
bool execute_equally(const CountedFunction& function, std::uint32_t block, std::uint32_t post_dominator) {
  const Uniformity& uniformity = function.analyses->uniformity();
  const LoopNest& nest = function.analyses->loops();
  return uniformity.is_joint(block) && uniformity.is_joint(post_dominator) &&
         nest.loop_of(block) == nest.loop_of(post_dominator);
}

std::vector<std::uint32_t> blocks_between(const ControlFlowGraph& graph, std::uint32_t begin,
                                          std::uint32_t end) {
  std::vector<std::uint32_t> blocks;
  walk_blocks(graph, graph.blocks[begin].successors, end, [&](std::uint32_t block) {
    blocks.push_back(block);
    return true;
  });
  return blocks;
}

WarpConvergence find_convergence(const CountedFunction& function, const EdgeSites& sites,
                                 WarpRegions& regions, const std::vector<DivergentLoop>& loops) {
  const Uniformity& uniformity = function.analyses->uniformity();
  WarpPaths paths{function.graph(),
                  function.analyses->dominators(),
                  function.analyses->post_dominators(),
                  function.analyses->loops(),
                  function.is_kernel(),
                  {},
                  {},
                  [&](std::uint32_t begin, std::uint32_t end) {
                    return execute_equally(function, begin, end)
                               ? std::optional(blocks_between(function.graph(), begin, end))
                               : regions.region_of(begin, end);
                  }};
  for (std::uint32_t block = 0; block < function.graph().blocks.size(); ++block) {
    const bool is_reachable = sites.is_reachable(block);
    paths.blocks.push_back({is_reachable, (uniformity.of_join(block) & varies_in_warp) != 0,
                            regions.diverges(block), is_reachable && sites.ends_in_call(block),
                            regions.may_join(block), uniformity.is_joint(block)});
  }
  for (const DivergentLoop& each : loops)
    paths.loops.push_back({each.loop, each.begin.block, each.end, each.begins_after_branch, each.blocks});
  return WarpConvergence(std::move(paths));
}

class WarpFlowBuilder {
 public:
  WarpFlowBuilder(const CountedFunction& function, const EdgeSites& sites, WarpRegions& regions,
                  const FlowFacts& facts)
      : function_(function),
        sites_(sites),
        regions_(regions),
        facts_(facts),
        convergence_(find_convergence(function, sites, regions, facts.divergent_loops)),
        outside_(static_cast<std::uint32_t>(graph().blocks.size())) {}

  FlowGraph run() {
    connect();
    if (facts_.counts_complements) count_complements(function_, sites_, edges_);
    return {std::move(edges_), outside_};
  }

 private:
  const LoopNest& nest() const { return function_.analyses->loops(); }
  const ControlFlowGraph& graph() const { return function_.graph(); }
  const std::vector<DivergentLoop>& loops() const { return facts_.divergent_loops; }
  const Loop& loop_at(std::uint32_t index) const { return nest().loops()[loops()[index].loop]; }
  bool is_in_loop(std::uint32_t index, std::uint32_t block) const {
    return nest().contains(loops()[index].loop, block);
  }
  bool is_whole(std::uint32_t block) const { return convergence_.is_whole(block); }
  /// The node where flow to `end` arrives: blocks that are apart are counted at their start.
  std::uint32_t node_of(std::uint32_t end) const {
    return end == no_block || convergence_.is_apart(end) ? outside_ : end;
  }

  CountedEdge& add(std::uint32_t source, std::uint32_t target, CounterDraft counter, bool is_converged) {
    CountedEdge edge{{source, target}, std::move(counter), false};
    edge.counter.kind = is_converged ? CounterKind::converged : CounterKind::elected;
    edge.flow.weight = edge.counter.weight * (is_converged ? cost::without_election : 1);
    edges_.push_back(std::move(edge));
    return edges_.back();
  }

  void connect() {
    if (!convergence_.is_apart(0)) {
      CountedEdge& entry = add(outside_, 0, sites_.entry(), function_.is_kernel());
      entry.is_entry = true;
      entry.flow.is_known = function_.entry_is_known;
    }
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (!sites_.is_reachable(block)) continue;
      const bool is_converged = is_whole(block);
      if (convergence_.is_apart(block)) add(outside_, block, sites_.block_start(block), is_converged);
      const std::uint32_t end = convergence_.end_of(block);
      if (convergence_.loop_left(block) != no_loop) {
        leave_loop(block);
      } else if (end != no_block) {
        add(block, node_of(end), sites_.block_end(block), is_converged);
      } else if (regions_.diverges(block) || convergence_.restarts(block)) {
        add(block, outside_, sites_.block_end(block), is_converged);
      } else {
        for (const std::uint32_t target : sites_.targets(block)) go_on(block, target, is_converged);
      }
    }
    for (const auto& [block, header] : convergence_.entered_anew()) enter_loop(block, header);
  }

  void enter_loop(std::uint32_t block, std::uint32_t header) {
    if (convergence_.is_apart(header)) return;
    CounterDraft counter = sites_.edge(block, header);
    // Lanes may return from a call one after the other.
    if (sites_.ends_in_call(block))
      counter.increments = {{{ProgramPoint::Kind::after, block, graph().blocks[block].end - 1}, {}}};
    add(outside_, header, std::move(counter), false);
  }

  void go_on(std::uint32_t block, std::uint32_t target, bool is_converged) {
    const bool ends = target == EdgeSites::outside || begins_anew(block, target);
    CountedEdge& edge = add(block, ends ? outside_ : target, sites_.edge(block, target), is_converged);
    for (std::uint32_t index = 0; index < loops().size(); ++index) {
      if (is_in_every_iteration(index, block, target)) count_by_lanes(edge, index);
    }
  }

  /// The last lanes to exit continue as the warp. If others exited earlier, the blocks between the loop and
  /// its end are counted separately.
  void leave_loop(std::uint32_t block) {
    const std::uint32_t index = convergence_.loop_left(block);
    for (const std::uint32_t target : sites_.targets(block)) {
      if (is_in_loop(index, target)) go_on(block, target, false);
    }
    CountedEdge edge{{block, node_of(convergence_.end_of_loop(index))}, {}, false};
    edge.flow.can_count = false;
    edges_.push_back(std::move(edge));
  }

  /// True if each full iteration takes the edge exactly once.
  bool is_in_every_iteration(std::uint32_t index, std::uint32_t block, std::uint32_t target) const {
    const Loop& loop = loop_at(index);
    if (!is_in_loop(index, block)) return false;
    if (target == loop.header) return loop.latches.size() == 1;
    const bool is_left = convergence_.loop_left(block) == index;
    const auto is_before = [&](std::uint32_t latch) {
      return function_.analyses->dominators().dominates(block, latch);
    };
    const auto stays = std::ranges::count_if(graph().blocks[block].successors,
                                             [&](std::uint32_t next) { return is_in_loop(index, next); });
    return is_left && stays == 1 && is_in_loop(index, target) && std::ranges::all_of(loop.latches, is_before);
  }

  /// Each lane counts for itself; the warp's count is the maximum over its lanes.
  void count_by_lanes(CountedEdge& edge, std::uint32_t index) {
    const std::uint32_t end = loops()[index].end;
    edge.flow.weight = edge.counter.weight * cost::in_each_lane;
    const CounterDraft at_end = sites_.block_start(end);
    edge.counter.increments[0].amount = Increment::Amount::lane_maximum;
    edge.counter.increments[0].index = index;
    edge.counter.weight = at_end.weight;
    edge.counter.repeats = at_end.repeats;
    edge.counter.kind = is_whole(end) ? CounterKind::converged : CounterKind::elected;
  }

  /// True if flow from `block` to `next` is counted by other means at `next`.
  bool begins_anew(std::uint32_t block, std::uint32_t next) const {
    return convergence_.is_apart(next) || convergence_.entered_anew().contains({block, next}) ||
           convergence_.is_awaited(block, next);
  }

  const CountedFunction& function_;
  const EdgeSites& sites_;
  WarpRegions& regions_;
  const FlowFacts& facts_;
  const WarpConvergence convergence_;
  const std::uint32_t outside_;
  std::vector<CountedEdge> edges_;
};

}  // namespace

FlowGraph warp_flow(const CountedFunction& function, const EdgeSites& sites, WarpRegions& regions,
                    const FlowFacts& facts) {
  return WarpFlowBuilder(function, sites, regions, facts).run();
}

}  // namespace lynxpp::ptx
