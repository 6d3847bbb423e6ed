#include "ptx/passes/counting/flow/warp_flow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ptx/analysis/flow/walk.h"
#include "ptx/passes/cost_model.h"
#include "ptx/passes/counting/refine/complements.h"

namespace lynxpp::ptx {
namespace {

/// Properties of a block.
struct BlockFacts {
  bool ends = false;                  ///< flow does not continue to its successors
  bool is_source = false;             ///< its warp executions are counted at its start
  bool is_partial = false;            ///< not all launched lanes of a warp reach it together
  std::uint32_t end_of = no_block;    ///< the block that executes once per divergence in this one
  std::uint32_t loop_left = no_loop;  ///< for an exiting block of a divergent loop: the loop's position
};

class WarpFlowBuilder {
 public:
  WarpFlowBuilder(const CountedFunction& function, const EdgeSites& sites, WarpRegions& regions,
                  const FlowFacts& facts)
      : function_(function),
        sites_(sites),
        regions_(regions),
        facts_(facts),
        outside_(static_cast<std::uint32_t>(graph().blocks.size())),
        blocks_(outside_),
        end_of_loop_(loops().size(), outside_) {
    for (std::uint32_t index = 0; index < loops().size(); ++index)
      loop_of_header_[loop_at(index).header] = index;
  }

  FlowGraph run() {
    find_loop_exits();
    for (std::uint32_t block = 0; block < outside_; ++block)
      blocks_[block].ends = sites_.is_reachable(block) && sites_.ends_in_call(block);
    find_regions();
    find_sources();
    find_partial();
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

  void find_loop_exits() {
    for (std::uint32_t index = 0; index < loops().size(); ++index) {
      for (const std::uint32_t block : nest().blocks_of(loops()[index].loop)) {
        for (const std::uint32_t next : graph().blocks[block].successors) {
          if (!is_in_loop(index, next)) blocks_[block].loop_left = index;
        }
      }
    }
  }

  /// Sets blocks_[d].end_of = e if e executes once per divergence of a warp in d.
  void find_regions() {
    const std::vector<std::uint32_t>& post_dominators = function_.analyses->post_dominators();
    // Divergent blocks and headers of divergent loops, by the block where they end.
    std::map<std::uint32_t, std::vector<std::uint32_t>> begins;
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (regions_.diverges(block) && post_dominators[block] != no_block &&
          blocks_[block].loop_left == no_loop)
        begins[post_dominators[block]].push_back(block);
    }
    for (const DivergentLoop& divergent : loops())
      begins[divergent.end].push_back(nest().loops()[divergent.loop].header);
    for (auto& [end, of_end] : begins) find_regions(end, of_end);
  }

  void find_regions(std::uint32_t end, std::vector<std::uint32_t>& begins) {
    const DominatorTree& dominators = function_.analyses->dominators();
    // Outer divergences first: they dominate the inner ones.
    std::ranges::stable_sort(begins, {}, [&](std::uint32_t block) { return dominators.order_of(block); });
    std::vector<std::uint32_t*> ends;  // of the outer ones
    std::set<std::uint32_t> inside;    // blocks whose lanes are awaited
    for (const std::uint32_t begin : begins) {
      if (inside.contains(begin)) continue;
      // A loop also covers a divergence at its header.
      const auto loop = loop_of_header_.find(begin);
      const bool is_loop = loop != loop_of_header_.end() && loops()[loop->second].end == end;
      std::optional<std::vector<std::uint32_t>> region = is_loop ? loops()[loop->second].blocks
                                                         : execute_equally(begin, end)
                                                             ? blocks_between(begin, end)
                                                             : regions_.region_of(begin, end);
      if (!region) {
        blocks_[end].is_source = true;
        return;
      }
      inside.insert(region->begin(), region->end());
      ends.push_back(is_loop ? &end_of_loop_[loop->second] : &blocks_[begin].end_of);
    }
    for (std::uint32_t* const each : ends) *each = end;
    awaited_[end] = std::move(inside);
  }

  /// True if all lanes of a warp execute a block and its post-dominator equally often. Lanes that wait
  /// between them wait for other warps.
  bool execute_equally(std::uint32_t block, std::uint32_t post_dominator) const {
    const Uniformity& uniformity = function_.analyses->uniformity();
    return uniformity.is_joint(block) && uniformity.is_joint(post_dominator) &&
           nest().loop_of(block) == nest().loop_of(post_dominator);
  }

  std::vector<std::uint32_t> blocks_between(std::uint32_t begin, std::uint32_t end) const {
    std::vector<std::uint32_t> blocks;
    walk_blocks(graph(), graph().blocks[begin].successors, end, [&](std::uint32_t block) {
      blocks.push_back(block);
      return true;
    });
    return blocks;
  }

  void find_sources() {
    const Uniformity& uniformity = function_.analyses->uniformity();
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (!sites_.is_reachable(block)) continue;
      if ((uniformity.of_join(block) & varies_in_warp) != 0 && !awaited_.contains(block))
        blocks_[block].is_source = true;
      if (blocks_[block].loop_left != no_loop) {
        start_after_loop(block);
      } else if (regions_.diverges(block) || blocks_[block].ends) {
        start_after(block);
      }
    }
  }

  /// Lanes that exit a loop early execute the blocks between the loop and its end separately.
  void start_after_loop(std::uint32_t block) {
    const std::uint32_t index = blocks_[block].loop_left;
    for (const std::uint32_t successor : graph().blocks[block].successors) {
      if (!is_in_loop(index, successor) && successor != loops()[index].end)
        blocks_[successor].is_source = true;
    }
  }

  /// Only some lanes of `block` reach its successors, or lanes may have diverged in it.
  void start_after(std::uint32_t block) {
    for (const std::uint32_t successor : graph().blocks[block].successors) {
      const auto end = awaited_.find(successor);
      const bool is_awaited =
          end != awaited_.end() && (blocks_[block].end_of == successor || end->second.contains(block));
      if (is_awaited) continue;
      // The header of a divergent loop has one incoming edge from outside, so entries are counted on that
      // edge.
      if (loop_of_header_.contains(successor)) {
        entered_anew_.emplace(block, successor);
      } else {
        blocks_[successor].is_source = true;
      }
    }
  }

  void find_partial() {
    std::vector<std::uint32_t> pending;
    const Uniformity& uniformity = function_.analyses->uniformity();
    const auto mark = [&](std::uint32_t block) {
      if (blocks_[block].is_partial || uniformity.is_joint(block)) return;
      blocks_[block].is_partial = true;
      pending.push_back(block);
    };
    if (!function_.is_kernel()) mark(0);
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (blocks_[block].is_source) mark(block);
    }
    for (const DivergentLoop& divergent : loops()) {
      for (const std::uint32_t block : divergent.blocks) mark(block);
      // Only lanes that enter the loop reach its end.
      if (divergent.begins_after_branch) mark(divergent.end);
    }
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      if (regions_.may_join(block) && !blocks_[block].ends) {
        blocks_[block].ends = true;
        start_after(block);
        for (const std::uint32_t successor : graph().blocks[block].successors) {
          if (blocks_[successor].is_source) mark(successor);
        }
      }
      if (blocks_[block].end_of != no_block) mark(blocks_[block].end_of);
      for (const DivergentLoop& divergent : loops()) {
        if (divergent.begin.block == block) mark(divergent.end);
      }
      if (regions_.diverges(block) || blocks_[block].ends || blocks_[block].loop_left != no_loop) continue;
      for (const std::uint32_t successor : graph().blocks[block].successors) {
        if (!begins_anew(block, successor)) mark(successor);
      }
    }
  }

  CountedEdge& add(std::uint32_t source, std::uint32_t target, CounterDraft counter, bool is_converged) {
    CountedEdge edge{{source, target}, std::move(counter), false};
    edge.counter.kind = is_converged ? CounterKind::converged : CounterKind::elected;
    edge.flow.weight = edge.counter.weight * (is_converged ? cost::without_election : 1);
    edges_.push_back(std::move(edge));
    return edges_.back();
  }

  void connect() {
    if (!blocks_[0].is_source) {
      CountedEdge& entry = add(outside_, 0, sites_.entry(), function_.is_kernel());
      entry.is_entry = true;
      entry.flow.is_known = function_.entry_is_known;
    }
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (!sites_.is_reachable(block)) continue;
      const bool is_converged = !blocks_[block].is_partial;
      if (blocks_[block].is_source) add(outside_, block, sites_.block_start(block), is_converged);
      const std::uint32_t end = blocks_[block].end_of;
      if (blocks_[block].loop_left != no_loop) {
        leave_loop(block);
      } else if (end != no_block) {
        add(block, blocks_[end].is_source ? outside_ : end, sites_.block_end(block), is_converged);
      } else if (regions_.diverges(block) || blocks_[block].ends) {
        add(block, outside_, sites_.block_end(block), is_converged);
      } else {
        for (const std::uint32_t target : sites_.targets(block)) go_on(block, target, is_converged);
      }
    }
    for (const auto& [block, header] : entered_anew_) enter_loop(block, header);
  }

  void enter_loop(std::uint32_t block, std::uint32_t header) {
    if (blocks_[header].is_source) return;
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
    const std::uint32_t index = blocks_[block].loop_left;
    for (const std::uint32_t target : sites_.targets(block)) {
      if (is_in_loop(index, target)) go_on(block, target, false);
    }
    const std::uint32_t end = end_of_loop_[index];
    CountedEdge edge{{block, end == outside_ || blocks_[end].is_source ? outside_ : end}, {}, false};
    edge.flow.can_count = false;
    edges_.push_back(std::move(edge));
  }

  /// True if each full iteration takes the edge exactly once.
  bool is_in_every_iteration(std::uint32_t index, std::uint32_t block, std::uint32_t target) const {
    const Loop& loop = loop_at(index);
    if (!is_in_loop(index, block)) return false;
    if (target == loop.header) return loop.latches.size() == 1;
    const bool is_left = blocks_[block].loop_left == index;
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
    edge.counter.kind = blocks_[end].is_partial ? CounterKind::elected : CounterKind::converged;
  }

  /// True if flow from `block` to `next` is counted by other means at `next`.
  bool begins_anew(std::uint32_t block, std::uint32_t next) const {
    if (blocks_[next].is_source || entered_anew_.contains({block, next})) return true;
    const auto end = awaited_.find(next);
    return end != awaited_.end() && end->second.contains(block);
  }

  const CountedFunction& function_;
  const EdgeSites& sites_;
  WarpRegions& regions_;
  const FlowFacts& facts_;
  const std::uint32_t outside_;
  std::vector<BlockFacts> blocks_;
  std::map<std::uint32_t, std::uint32_t> loop_of_header_;  ///< of divergent loops, by block
  /// per divergent loop: the block where the warp continues after it, or outside_
  std::vector<std::uint32_t> end_of_loop_;
  /// Ends of regions, with the blocks whose lanes are awaited there.
  std::map<std::uint32_t, std::set<std::uint32_t>> awaited_;
  /// edges into divergent loops with a counter of their own
  std::set<std::pair<std::uint32_t, std::uint32_t>> entered_anew_;
  std::vector<CountedEdge> edges_;
};

}  // namespace

FlowGraph warp_flow(const CountedFunction& function, const EdgeSites& sites, WarpRegions& regions,
                    const FlowFacts& facts) {
  return WarpFlowBuilder(function, sites, regions, facts).run();
}

}  // namespace lynxpp::ptx
