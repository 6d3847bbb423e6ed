#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ptx/passes/counting/flow/flow.h"
#include "ptx/passes/counting/flow/likely_ways.h"
#include "ptx/passes/counting/flow/regions.h"
#include "ptx/passes/counting/refine/iterations.h"

namespace lynxpp::ptx {
namespace {

/// Of a count that each lane keeps for itself, relative to an election.
constexpr double lane_cost = 0.3;
/// Of a bit on the lanes' paths.
constexpr double path_cost = 0.05;
/// Of a vote before a body that nearly all warps enter.
constexpr double around_cost = 0.1;

class WarpFlow {
 public:
  explicit WarpFlow(const CountedFunction& function)
      : function_(function),
        graph_(function.unit->graph),
        places_(function),
        warp_regions_(function, places_),
        outside_(static_cast<std::uint32_t>(graph_.blocks.size())),
        ends_(outside_),
        sources_(outside_),
        partial_(outside_),
        once_(outside_),
        end_of_(outside_, no_block),
        body_of_(outside_, no_block),
        behind_(outside_),
        joins_(outside_),
        loop_left_(outside_, no_loop) {}

  WarpEdges edges() {
    if (function_.counts_loops) find_loops();
    find_calls();
    find_regions();
    find_sources();
    find_partial();
    find_once();
    find_bodies();
    connect();
    std::vector<LoopPlan> plans;
    for (const DividedLoop& divided : loops_)
      plans.push_back({divided.begin, divided.end, no_counter, divided.loop, {}});
    FlowGraphEdges flow;
    count_bypasses(function_, edges_);
    flow.edges = std::move(edges_);
    count_by_iterations(function_, iterations(), true, flow);
    return {std::move(flow), std::move(plans), std::move(once_)};
  }

 private:
  void find_loops() {
    const LoopNest& nest = function_.analyses->loops();
    loops_ = warp_regions_.divided_loops();
    token_to_.assign(loops_.size(), outside_);
    for (std::uint32_t index = 0; index < loops_.size(); ++index) {
      for (const std::uint32_t block : nest.blocks_of(loops_[index].loop)) {
        for (const std::uint32_t next : graph_.blocks[block].successors) {
          if (!nest.contains(loops_[index].loop, next)) loop_left_[block] = index;
        }
      }
    }
  }

  /// Of loops that all lanes of the warp go through together, lane 0 tells, of others that are passed
  /// together one that is elected behind the loop.
  std::vector<ChosenIterations> iterations() const {
    std::vector<ChosenIterations> found;
    for (std::uint32_t index = 0; index < function_.iterations.size(); ++index) {
      const Iterations& iterations = function_.iterations[index];
      const bool is_whole =
          function_.is_kernel && !partial_[iterations.block] && !partial_[iterations.place.block];
      if (is_whole || iterations.is_together) found.push_back({index, is_whole});
    }
    return found;
  }

  bool is_in_loop(std::uint32_t index, std::uint32_t block) const {
    return function_.analyses->loops().contains(loops_[index].loop, block);
  }

  void find_calls() {
    for (std::uint32_t block = 0; block < outside_; ++block) {
      ends_[block] = places_.is_reachable(block) && places_.ends_in_call(block);
    }
  }

  /// end_of_[d] = e: e runs once for every time d divides the warp.
  void find_regions() {
    const std::vector<std::uint32_t>& meetings = function_.analyses->post_dominators();
    std::map<std::uint32_t, std::vector<std::uint32_t>> divisions;  // by where they end
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (warp_regions_.divides(block) && meetings[block] != no_block && loop_left_[block] == no_loop)
        divisions[meetings[block]].push_back(block);
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> loops;
    for (std::uint32_t index = 0; index < loops_.size(); ++index) {
      loops[loops_[index].end].push_back(index);
      divisions.try_emplace(loops_[index].end);
    }
    for (auto& [end, begins] : divisions) find_regions(end, begins, loops[end]);
  }

  void find_regions(std::uint32_t end, std::vector<std::uint32_t>& begins,
                    const std::vector<std::uint32_t>& loops) {
    const DominatorTree& dominators = function_.analyses->dominators();
    const LoopNest& nest = function_.analyses->loops();
    std::map<std::uint32_t, std::uint32_t> loop_at;  // by header
    for (const std::uint32_t index : loops) {
      const std::uint32_t header = nest.loops()[loops_[index].loop].header;
      loop_at[header] = index;
      begins.push_back(header);
    }
    // Outer divisions come first: they dominate the inner ones. A loop comes before a division at its header.
    std::ranges::stable_sort(begins, {}, [&](std::uint32_t block) { return dominators.order_of(block); });
    std::vector<std::uint32_t> outer;
    std::set<std::uint32_t> inside;  // blocks whose lanes are awaited
    for (const std::uint32_t begin : begins) {
      if (inside.contains(begin)) continue;
      const auto loop = loop_at.find(begin);
      std::optional<std::vector<std::uint32_t>> region =
          loop == loop_at.end() ? warp_regions_.region_of(begin, end) : loops_[loop->second].blocks;
      if (!region) {
        sources_[end] = true;
        return;
      }
      inside.insert(region->begin(), region->end());
      outer.push_back(begin);
    }
    for (const std::uint32_t begin : outer) {
      const auto loop = loop_at.find(begin);
      if (loop == loop_at.end()) {
        end_of_[begin] = end;
      } else {
        token_to_[loop->second] = end;
      }
    }
    meets_[end] = std::move(inside);
  }

  void find_sources() {
    const Uniformity& uniformity = function_.analyses->uniformity();
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (!places_.is_reachable(block)) continue;
      if ((uniformity.of_meeting(block) & varies_in_warp) != 0 && !meets_.contains(block))
        sources_[block] = true;
      if (loop_left_[block] != no_loop) {
        start_behind_loop(block);
      } else if (warp_regions_.divides(block) || ends_[block]) {
        start_behind(block);
      }
    }
  }

  /// Lanes that leave a loop before others do run what lies between it and its end by themselves.
  void start_behind_loop(std::uint32_t block) {
    const std::uint32_t index = loop_left_[block];
    for (const std::uint32_t successor : graph_.blocks[block].successors) {
      if (!is_in_loop(index, successor) && successor != loops_[index].end) sources_[successor] = true;
    }
  }

  /// What follows `block` is entered by some of its lanes only, or after they may have parted.
  void start_behind(std::uint32_t block) {
    for (const std::uint32_t successor : graph_.blocks[block].successors) {
      const auto meeting = meets_.find(successor);
      const bool is_awaited =
          meeting != meets_.end() && (end_of_[block] == successor || meeting->second.contains(block));
      if (is_awaited) continue;
      if (is_loop_entry(successor)) {
        entered_anew_.emplace(block, successor);
      } else {
        sources_[successor] = true;
      }
    }
  }

  /// The header of a divided loop has one way in from outside, which is where to count what enters.
  bool is_loop_entry(std::uint32_t block) const {
    const LoopNest& nest = function_.analyses->loops();
    return std::ranges::any_of(
        loops_, [&](const DividedLoop& divided) { return nest.loops()[divided.loop].header == block; });
  }

  void find_partial() {
    std::vector<std::uint32_t> pending;
    const auto mark = [&](std::uint32_t block) {
      if (partial_[block]) return;
      partial_[block] = true;
      pending.push_back(block);
    };
    if (!function_.is_kernel) mark(0);
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (sources_[block]) mark(block);
    }
    for (const DividedLoop& divided : loops_) {
      for (const std::uint32_t block : divided.blocks) mark(block);
      // Only lanes that enter the loop come to its end.
      if (divided.begins_behind_branch) mark(divided.end);
    }
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      const BasicBlock& range = graph_.blocks[block];
      if (warp_regions_.may_join(block) && !ends_[block]) {
        ends_[block] = true;
        start_behind(block);
        for (const std::uint32_t successor : range.successors) {
          if (sources_[successor]) mark(successor);
        }
      }
      if (end_of_[block] != no_block) mark(end_of_[block]);
      for (const DividedLoop& divided : loops_) {
        if (divided.begin.block == block) mark(divided.end);
      }
      if (warp_regions_.divides(block) || ends_[block] || loop_left_[block] != no_loop) continue;
      for (const std::uint32_t successor : range.successors) {
        if (!begins_anew(block, successor)) mark(successor);
      }
    }
  }

  /// Blocks that a warp executes at most once, with all lanes that ever come there.
  void find_once() {
    if (!function_.leaves_together) return;
    const LoopNest& nest = function_.analyses->loops();
    const DominatorTree& dominators = function_.analyses->dominators();
    for (const std::uint32_t block : dominators.reverse_post_order()) {
      if (nest.loop_of(block) != no_loop || nest.is_irreducible(block)) continue;
      once_[block] = function_.is_kernel && !partial_[block];
      std::uint32_t above = dominators.immediate(block);
      const bool is_next = ways_in(block) == 1;
      while (above != no_block && nest.loop_of(above) != no_loop) above = dominators.immediate(above);
      if (once_[block] || above == no_block || !once_[above] || ends_[above]) continue;
      once_[block] = (is_next && above == dominators.immediate(block)) ||
                     warp_regions_.region_of(above, block).has_value();
    }
  }

  std::ptrdiff_t ways_in(std::uint32_t block) const {
    std::ptrdiff_t ways = 0;
    for (const std::uint32_t before : graph_.blocks[block].predecessors)
      ways += std::ranges::count(places_.ways(before), block);
    return ways;
  }

  /// Bodies of conditions in loops that nearly all warps enter: either some lane does or all go around, which
  /// is as many executions as the division has, and as where both ways meet.
  void find_bodies() {
    if (!function_.path_begins.empty()) return;  // noted by the lanes
    const LikelyWays likely(function_);
    for (std::uint32_t block = 0; block < outside_; ++block) {
      const std::uint32_t end = end_of_[block];
      const std::uint32_t body = end == no_block ? no_block : likely.body_within_bounds(block);
      if (body == no_block || !sources_[body]) continue;
      const std::uint32_t last = last_before(end, body);
      if (last == no_block) continue;
      body_of_[block] = body;
      behind_[body] = true;
      joins_[last] = true;
    }
  }

  /// The last of the blocks that lead from `block` to `end`, one after the other and nowhere else.
  std::uint32_t last_before(std::uint32_t end, std::uint32_t block) const {
    for (;;) {
      if (places_.ways(block).size() != 1 || ends_[block]) return no_block;
      const std::uint32_t next = places_.ways(block)[0];
      if (next == end) return block;
      if (next == EdgePlaces::leaves || sources_[next] || graph_.blocks[next].predecessors.size() != 1)
        return no_block;
      block = next;
    }
  }

  bool is_once(const Counter& counter) const {
    return !counter.is_repeated && counter.places.size() == 1 && once_[counter.places[0].block];
  }

  CountedEdge& add(std::uint32_t source, std::uint32_t target, Counter counter, bool is_whole) {
    CountedEdge edge{{source, target}, std::move(counter), false};
    edge.counter.counts_warps = true;
    edge.counter.is_whole = is_whole;
    edge.counter.is_once = is_once(edge.counter);
    // Lane 0, or all lanes, count for next to nothing, an election takes four instructions.
    edge.flow.weight = edge.counter.weight * (is_whole || edge.counter.is_once ? 0.25 : 1);
    edges_.push_back(std::move(edge));
    return edges_.back();
  }

  void connect() {
    if (!sources_[0]) {
      CountedEdge& entry = add(outside_, 0, places_.entry(), function_.is_kernel);
      entry.is_entry = true;
      entry.flow.is_known = function_.entry_is_known;
    }
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (!places_.is_reachable(block)) continue;
      if (sources_[block] && !behind_[block]) add(outside_, block, places_.block_start(block), false);
      const bool whole = !partial_[block];
      const std::uint32_t end = end_of_[block];
      if (loop_left_[block] != no_loop) {
        leave_loop(block);
      } else if (body_of_[block] != no_block) {
        lead_into_body(block, whole);
      } else if (end != no_block) {
        CountedEdge& edge = add(block, sources_[end] ? outside_ : end, places_.block_end(block), whole);
        if (std::ranges::binary_search(function_.path_begins, block)) edge.flow.weight *= path_cost;
      } else if (warp_regions_.divides(block) || ends_[block]) {
        add(block, outside_, places_.block_end(block), whole);
      } else {
        for (const std::uint32_t way : places_.ways(block)) go_on(block, way, whole);
      }
    }
    for (const auto& [block, header] : entered_anew_) enter_loop(block, header);
  }

  void lead_into_body(std::uint32_t block, bool is_whole) {
    const std::uint32_t body = body_of_[block];
    const std::uint32_t end = end_of_[block];
    add(block, body, places_.block_start(body), false);
    Counter around = places_.block_end(block);
    around.places = {{CountPlace::Kind::bypass, block, graph_.blocks[block].end - 1, body}};
    around.weight *= around_cost;
    add(block, sources_[end] ? outside_ : end, std::move(around), is_whole);
  }

  void enter_loop(std::uint32_t block, std::uint32_t header) {
    if (sources_[header]) return;
    Counter counter = places_.edge(block, header);
    // Behind a call lanes may come back one after the other.
    if (places_.ends_in_call(block)) counter.places = {{CountPlace::Kind::fall_through, block, 0, 0}};
    add(outside_, header, std::move(counter), false);
  }

  void go_on(std::uint32_t block, std::uint32_t way, bool is_whole) {
    const bool joins = joins_[block] && !sources_[way];
    const bool leaves = way == EdgePlaces::leaves || (begins_anew(block, way) && !joins);
    CountedEdge& edge = add(block, leaves ? outside_ : way, places_.edge(block, way), is_whole);
    for (std::uint32_t index = 0; index < loops_.size(); ++index) {
      if (is_in_every_iteration(index, block, way)) count_by_lanes(edge, index);
    }
  }

  /// The last lanes to leave go on as the warp; where others left before, what is between the loop and its
  /// end is counted anew.
  void leave_loop(std::uint32_t block) {
    const std::uint32_t index = loop_left_[block];
    for (const std::uint32_t way : places_.ways(block)) {
      if (is_in_loop(index, way)) go_on(block, way, false);
    }
    const std::uint32_t end = token_to_[index];
    CountedEdge edge{{block, end == outside_ || sources_[end] ? outside_ : end}, {}, false};
    edge.flow.can_count = false;
    edges_.push_back(std::move(edge));
  }

  /// Whether each full iteration takes the edge, once.
  bool is_in_every_iteration(std::uint32_t index, std::uint32_t block, std::uint32_t way) const {
    const Loop& loop = function_.analyses->loops().loops()[loops_[index].loop];
    if (!is_in_loop(index, block)) return false;
    if (way == loop.header) return loop.latches.size() == 1;
    const bool is_left = loop_left_[block] == index;
    const auto is_before = [&](std::uint32_t latch) {
      return function_.analyses->dominators().dominates(block, latch);
    };
    const auto stays = std::ranges::count_if(graph_.blocks[block].successors,
                                             [&](std::uint32_t next) { return is_in_loop(index, next); });
    return is_left && stays == 1 && is_in_loop(index, way) && std::ranges::all_of(loop.latches, is_before);
  }

  /// Each lane counts for itself; the most that a lane counts is what the warp does.
  void count_by_lanes(CountedEdge& edge, std::uint32_t index) {
    const std::uint32_t end = loops_[index].end;
    edge.flow.weight = edge.counter.weight * lane_cost;
    edge.counter.maximum_in = index;
    const Counter at_end = places_.block_start(end);
    edge.counter.weight = at_end.weight;
    edge.counter.is_repeated = at_end.is_repeated;
    edge.counter.is_whole = !partial_[end];
    edge.counter.is_once = once_[end];
  }

  /// Whether what goes from `block` to `next` is counted there by other means.
  bool begins_anew(std::uint32_t block, std::uint32_t next) const {
    if (sources_[next] || entered_anew_.contains({block, next})) return true;
    const auto meeting = meets_.find(next);
    return meeting != meets_.end() && meeting->second.contains(block);
  }

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  const EdgePlaces places_;
  WarpRegions warp_regions_;
  const std::uint32_t outside_;
  std::vector<bool> ends_;  ///< what follows is counted anew
  std::vector<bool> sources_;
  std::vector<bool> partial_;
  std::vector<bool> once_;
  std::vector<std::uint32_t> end_of_;
  std::vector<std::uint32_t> body_of_;  ///< per division, see find_bodies()
  std::vector<bool> behind_;            ///< these bodies
  std::vector<bool> joins_;  ///< the last blocks of bodies: the warp is whoever comes there, or goes around
  /// Ends of regions, with the blocks whose lanes are awaited there.
  std::map<std::uint32_t, std::set<std::uint32_t>> meets_;
  /// ways into divided loops that are counted anew
  std::set<std::pair<std::uint32_t, std::uint32_t>> entered_anew_;
  std::vector<DividedLoop> loops_;
  std::vector<std::uint32_t> token_to_;  ///< per divided loop: where the warp goes on behind it, or outside_
  /// per block with a way out of a divided loop: its position in loops_
  std::vector<std::uint32_t> loop_left_;
  std::vector<CountedEdge> edges_;
};

}  // namespace

WarpEdges warp_flow(const CountedFunction& function) { return WarpFlow(function).edges(); }

}  // namespace lynxpp::ptx
