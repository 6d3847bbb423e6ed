#include <algorithm>
#include <optional>

#include "ptx/analysis/opcode_modifiers.h"
#include "ptx/passes/count_flow.h"

namespace lynxpp::ptx {
namespace {

/// In a loop: may be how a lane waits for others, which have to go on before it then, wherever they are.
bool may_spin(const Instruction& instruction) {
  const OpcodeTraits& traits = instruction.traits;
  if (!traits.known || traits.kind == OpcodeClass::atomic || traits.kind == OpcodeClass::call) return true;
  for (const std::string_view modifier : {"volatile", "relaxed", "acquire", "mmio"}) {
    if (has_modifier(instruction.opcode, modifier)) return true;
  }
  return false;
}

bool may_wait(const Instruction& instruction) { return may_spin(instruction) || may_join_lanes(instruction); }

class WarpFlow {
 public:
  explicit WarpFlow(const CountedFunction& function)
      : function_(function),
        graph_(function.unit->graph),
        instructions_(function.unit->function->body->instructions),
        places_(function),
        outside_(static_cast<std::uint32_t>(graph_.blocks.size())),
        divides_(outside_),
        waits_(outside_),
        ends_(outside_),
        sources_(outside_),
        partial_(outside_),
        end_of_(outside_, no_block),
        regions_(outside_),
        budget_(100000 + 64 * std::size_t{outside_}) {}

  std::vector<CountedEdge> edges() {
    find_divisions();
    find_regions();
    find_sources();
    find_partial();
    connect();
    return std::move(edges_);
  }

 private:
  const Instruction* last(std::uint32_t block) const {
    const BasicBlock& range = graph_.blocks[block];
    return range.size() == 0 ? nullptr : &instructions_[range.end - 1];
  }

  void find_divisions() {
    const Uniformity& uniformity = function_.analyses->uniformity();
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (!places_.is_reachable(block)) continue;
      const BasicBlock& range = graph_.blocks[block];
      divides_[block] = places_.ways(block).size() > 1 && (uniformity.of_branch(block) & varies_in_warp) != 0;
      ends_[block] = last(block) != nullptr && last(block)->traits.kind == OpcodeClass::call;
      const auto holds = [&](bool (*property)(const Instruction&)) {
        return std::any_of(instructions_.begin() + range.begin, instructions_.begin() + range.end, property);
      };
      waits_[block] = holds(may_wait);
      if (holds(may_spin)) spinning_loops_.insert(outermost_loop(block));
    }
  }

  /// Whether lanes may spin in some loop around the block.
  bool may_spin_around(std::uint32_t block) const {
    const std::uint32_t loop = outermost_loop(block);
    return loop != no_loop && spinning_loops_.contains(loop);
  }

  std::uint32_t outermost_loop(std::uint32_t block) const {
    const LoopNest& loops = function_.analyses->loops();
    std::uint32_t loop = loops.loop_of(block);
    while (loop != no_loop && loops.loops()[loop].parent != no_loop) loop = loops.loops()[loop].parent;
    return loop;
  }

  /// The blocks between a division and where all its lanes are together again; nullopt when lanes may come in or go away elsewhere.
  std::optional<std::vector<std::uint32_t>> region_of(std::uint32_t begin, std::uint32_t end) {
    const LoopNest& loops = function_.analyses->loops();
    const DominatorTree& dominators = function_.analyses->dominators();
    if (loops.loop_of(begin) != loops.loop_of(end) || loops.is_irreducible(begin) ||
        loops.is_irreducible(end) || graph_.blocks[begin].leaves_function || may_spin_around(begin))
      return std::nullopt;
    std::vector<std::uint32_t> region;
    std::vector<bool> seen(outside_);
    std::vector<std::uint32_t> pending = graph_.blocks[begin].successors;
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      if (block == end || seen[block]) continue;
      if (budget_ == 0) return std::nullopt;
      --budget_;
      if (block == begin || !dominators.dominates(begin, block) || graph_.blocks[block].leaves_function ||
          waits_[block])
        return std::nullopt;
      seen[block] = true;
      region.push_back(block);
      pending.insert(pending.end(), graph_.blocks[block].successors.begin(),
                     graph_.blocks[block].successors.end());
    }
    std::ranges::sort(region);
    return region;
  }

  /// end_of_[d] = e: e runs once for every time d divides the warp, and regions_[d] are the blocks between.
  void find_regions() {
    const std::vector<std::uint32_t>& meetings = function_.analyses->post_dominators();
    std::vector<std::vector<std::uint32_t>> divisions(outside_);  // by where they end
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (divides_[block] && meetings[block] != no_block) divisions[meetings[block]].push_back(block);
    }
    for (std::uint32_t end = 0; end < outside_; ++end) {
      if (divisions[end].empty()) continue;
      std::vector<std::uint32_t> outer;
      std::set<std::uint32_t> inside;
      // Outer divisions come first: they dominate the inner ones.
      std::ranges::sort(divisions[end], {}, [&](std::uint32_t block) {
        return function_.analyses->dominators().order_of(block);
      });
      bool fits = true;
      for (const std::uint32_t begin : divisions[end]) {
        if (inside.contains(begin)) continue;
        std::optional<std::vector<std::uint32_t>> region = region_of(begin, end);
        if (!region) {
          fits = false;
          break;
        }
        inside.insert(region->begin(), region->end());
        regions_[begin] = std::move(*region);
        outer.push_back(begin);
      }
      if (!fits) {
        for (const std::uint32_t begin : outer) regions_[begin].clear();
        sources_[end] = true;
        continue;
      }
      for (const std::uint32_t begin : outer) {
        end_of_[begin] = end;
        meets_[end].insert(regions_[begin].begin(), regions_[begin].end());
      }
    }
  }

  void find_sources() {
    const Uniformity& uniformity = function_.analyses->uniformity();
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (!places_.is_reachable(block)) continue;
      if ((uniformity.of_meeting(block) & varies_in_warp) != 0 && !meets_.contains(block))
        sources_[block] = true;
      if (divides_[block] || ends_[block]) start_behind(block);
    }
  }

  /// What follows `block` is entered by some of its lanes only, or after they may have parted.
  void start_behind(std::uint32_t block) {
    for (const std::uint32_t successor : graph_.blocks[block].successors) {
      const auto meeting = meets_.find(successor);
      const bool is_awaited =
          meeting != meets_.end() && (end_of_[block] == successor || meeting->second.contains(block));
      if (!is_awaited) sources_[successor] = true;
    }
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
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      const BasicBlock& range = graph_.blocks[block];
      const bool joins =
          std::any_of(instructions_.begin() + range.begin, instructions_.begin() + range.end, may_join_lanes);
      if (joins && !ends_[block]) {
        ends_[block] = true;
        start_behind(block);
        for (const std::uint32_t successor : range.successors) {
          if (sources_[successor]) mark(successor);
        }
      }
      if (end_of_[block] != no_block) mark(end_of_[block]);
      if (divides_[block] || ends_[block]) continue;
      for (const std::uint32_t successor : range.successors) {
        if (!begins_anew(block, successor)) mark(successor);
      }
    }
  }

  void add(std::uint32_t source, std::uint32_t target, Counter counter, bool is_whole) {
    CountedEdge edge{{source, target}, std::move(counter), false};
    edge.counter.counts_warps = true;
    edge.counter.is_whole = is_whole;
    // Lane 0 counts for next to nothing, an election takes four instructions.
    edge.flow.weight = edge.counter.weight * (is_whole ? 0.25 : 1);
    edges_.push_back(std::move(edge));
  }

  void connect() {
    if (!sources_[0]) {
      add(outside_, 0, places_.entry(), function_.is_kernel);
      edges_.back().is_entry = true;
      edges_.back().flow.is_known = function_.entry_is_known;
    }
    for (std::uint32_t block = 0; block < outside_; ++block) {
      if (!places_.is_reachable(block)) continue;
      if (sources_[block]) add(outside_, block, places_.block_start(block), false);
      const bool whole = !partial_[block];
      const std::uint32_t end = end_of_[block];
      if (end != no_block) {
        add(block, sources_[end] ? outside_ : end, places_.block_end(block), whole);
      } else if (divides_[block] || ends_[block]) {
        add(block, outside_, places_.block_end(block), whole);
      } else {
        for (const std::uint32_t way : places_.ways(block)) {
          add(block, way == EdgePlaces::leaves || begins_anew(block, way) ? outside_ : way,
              places_.edge(block, way), whole);
        }
      }
    }
  }

  /// Whether what goes from `block` to `next` is counted there by other means.
  bool begins_anew(std::uint32_t block, std::uint32_t next) const {
    if (sources_[next]) return true;
    const auto meeting = meets_.find(next);
    return meeting != meets_.end() && meeting->second.contains(block);
  }

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  const EdgePlaces places_;
  const std::uint32_t outside_;
  std::vector<bool> divides_;
  std::vector<bool> waits_;
  std::set<std::uint32_t> spinning_loops_;  ///< outermost ones in which lanes may spin
  std::vector<bool> ends_;                  ///< what follows is counted anew
  std::vector<bool> sources_;
  std::vector<bool> partial_;
  std::vector<std::uint32_t> end_of_;
  std::vector<std::vector<std::uint32_t>> regions_;
  /// Ends of regions, with the blocks whose lanes are awaited there.
  std::map<std::uint32_t, std::set<std::uint32_t>> meets_;
  std::size_t budget_;
  std::vector<CountedEdge> edges_;
};

}  // namespace

std::vector<CountedEdge> warp_flow(const CountedFunction& function) { return WarpFlow(function).edges(); }

}  // namespace lynxpp::ptx
