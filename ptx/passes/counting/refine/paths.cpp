#include "ptx/passes/counting/refine/paths.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "ptx/passes/counting/flow/regions.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_marks = 32;
/// Elections of a region that are worth its end, a reduction and six instructions, more where lanes are
/// missing, and eight registers. Where elections share registers it takes more of them.
constexpr std::size_t enough_elections = 6;
constexpr std::size_t enough_merged_elections = 12;
constexpr std::size_t most_visits = 10'000'000;  // of blocks, so that planning stays near-linear

using Places = std::vector<CountPlace>;

/// A counter as sums of places.
struct PathTerms {
  std::uint32_t counter = 0;
  Places added, subtracted;
};

class Paths {
 public:
  Paths(FunctionPlan& plan, const CountedFunction& function, std::size_t enough)
      : plan_(plan),
        enough_(enough),
        graph_(function.unit->graph),
        instructions_(function.unit->function->body->instructions),
        loops_(function.analyses->loops()),
        dominators_(function.analyses->dominators()),
        meetings_(function.analyses->post_dominators()),
        places_(function),
        regions_(function, places_),
        elected_in_(graph_.blocks.size()),
        taken_(graph_.blocks.size()) {}

  void run() {
    for (std::uint32_t index = 0; index < plan_.counters.size(); ++index) {
      if (is_elected(plan_.counters[index]))
        elected_in_[plan_.counters[index].places[0].block].push_back(index);
    }
    std::size_t visits = 0;
    for (const Region& region : regions()) {
      const auto is_taken = [&](std::uint32_t block) { return taken_[block]; };
      if (is_taken(region.begin) || std::ranges::any_of(region.blocks, is_taken)) continue;
      std::size_t elections = elected_in_[region.begin].size();
      for (const std::uint32_t block : region.blocks) elections += elected_in_[block].size();
      if (elections < enough_) continue;
      visits += graph_.blocks.size();
      if (visits > most_visits) return;
      look_at(region);
    }
  }

 private:
  struct Region {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::vector<std::uint32_t> blocks;  ///< ascending, between both
  };

  /// Inner loops first, then the larger ones first.
  std::vector<Region> regions() {
    std::vector<Region> found;
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      const std::uint32_t end = places_.is_reachable(block) ? meetings_[block] : no_block;
      // Whoever comes to the end has come by the beginning.
      if (end == no_block || !regions_.divides(block) || loops_.loop_of(block) == no_loop ||
          !dominators_.dominates(block, end))
        continue;
      if (std::optional<std::vector<std::uint32_t>> blocks = regions_.region_of(block, end))
        found.push_back({block, end, std::move(*blocks)});
    }
    std::ranges::stable_sort(found, [&](const Region& left, const Region& right) {
      const std::uint32_t left_depth = loops_.depth_of(left.begin);
      const std::uint32_t right_depth = loops_.depth_of(right.begin);
      return left_depth != right_depth ? left_depth > right_depth : left.blocks.size() > right.blocks.size();
    });
    return found;
  }

  void look_at(const Region& region) {
    region_ = &region;
    marks_of_.clear();
    meeting_at_.clear();
    for (const std::uint32_t block : region.blocks) {
      if (regions_.divides(block)) meeting_at_[meetings_[block]].push_back(block);
    }
    find_once();
    std::vector<PathTerms> found;
    const auto find_all = [&](std::uint32_t block) {
      for (const std::uint32_t index : elected_in_[block]) {
        PathTerms terms{index, {}, {}};
        if (find_terms(plan_.counters[index].places[0], terms)) found.push_back(std::move(terms));
      }
    };
    find_all(region.begin);
    std::ranges::for_each(region.blocks, find_all);
    if (found.size() < enough_) return;
    std::ranges::stable_sort(found, [&](const PathTerms& left, const PathTerms& right) {
      return plan_.counters[left.counter].weight > plan_.counters[right.counter].weight;
    });
    for (const PathTerms& terms : found) take(terms);
    plan_.paths.regions.push_back({region.begin, region.end, 0});
    taken_[region.begin] = true;
    for (const std::uint32_t block : region.blocks) taken_[block] = true;
  }

  static bool is_elected(const Counter& counter) {
    return counter.counts_warps && counter.is_repeated && counter.places.size() == 1 && !counter.is_whole &&
           !counter.is_maximum() && !counter.is_complement;
  }

  void take(const PathTerms& terms) {
    std::map<CountPlace, std::uint32_t> marks = marks_;
    for (const Places* places : {&terms.added, &terms.subtracted}) {
      for (const CountPlace& place : *places)
        marks.try_emplace(place, static_cast<std::uint32_t>(marks.size()));
    }
    if (marks.size() > most_marks) return;
    marks_ = std::move(marks);
    plan_.paths.marks.resize(marks_.size());
    for (const auto& [place, mark] : marks_) plan_.paths.marks[mark] = place;
    Counter& counter = plan_.counters[terms.counter];
    for (const CountPlace& place : terms.added) counter.path_terms.push_back({marks_.at(place), false});
    for (const CountPlace& place : terms.subtracted) counter.path_terms.push_back({marks_.at(place), true});
    counter.places.clear();
    counter.storage = Counter::Storage::path;
  }

  /// The region's blocks that a warp executes at most once for a time at its beginning, with all lanes that
  /// ever come there.
  void find_once() {
    once_.assign(graph_.blocks.size(), false);
    once_[region_->begin] = true;
    for (const std::uint32_t block : dominators_.reverse_post_order()) {
      if (!is_inside(block) || !is_beside(block)) continue;
      std::uint32_t above = dominators_.immediate(block);
      while (above != no_block && !is_beside(above)) above = dominators_.immediate(above);
      if (above == no_block || !once_[above]) continue;
      once_[block] = (ways_in(block) == 1 && above == dominators_.immediate(block)) ||
                     regions_.region_of(above, block).has_value();
    }
  }

  bool is_inside(std::uint32_t block) const { return std::ranges::binary_search(region_->blocks, block); }

  /// In no loop that the beginning is not in.
  bool is_beside(std::uint32_t block) const {
    return loops_.loop_of(block) == loops_.loop_of(region_->begin) && !loops_.is_irreducible(block);
  }

  std::ptrdiff_t ways_in(std::uint32_t block) const {
    std::ptrdiff_t ways = 0;
    for (const std::uint32_t before : graph_.blocks[block].predecessors)
      ways += std::ranges::count(places_.ways(before), block);
    return ways;
  }

  /// What is raised at `place` as places where each lane that comes by sets a bit; false: it is no sum of
  /// such.
  bool find_terms(const CountPlace& place, PathTerms& terms) {
    const std::uint32_t block = place.block;
    const BasicBlock& range = graph_.blocks[block];
    const bool is_at_branch = range.size() != 0 && place.instruction + 1 == range.end &&
                              instructions_[range.end - 1].traits.kind == OpcodeClass::branch;
    const auto add = [&](const std::optional<Places>& found, Places& to) {
      if (found) to.insert(to.end(), found->begin(), found->end());
      return found.has_value();
    };
    switch (place.kind) {
      case CountPlace::Kind::block_start:
        // Lanes may have come together in the block since then.
        if (block == region_->begin && regions_.may_join(block)) return false;
        [[fallthrough]];
      case CountPlace::Kind::block_end: return add(marks_of(block), terms.added);
      case CountPlace::Kind::fall_through: return add(marks_of_edge(block, range.fall_through), terms.added);
      case CountPlace::Kind::switch_target: return add(marks_of_edge(block, place.target), terms.added);
      case CountPlace::Kind::guard_holds:
        if (is_at_branch && parts_in_two(range))
          return add(marks_of_edge(block, range.targets[0]), terms.added);
        // The bits are cleared where the beginning ends.
        return once_[block] && (block != region_->begin || is_at_branch) && add(Places{place}, terms.added);
      case CountPlace::Kind::divides:
        return is_at_branch && parts_in_two(range) &&
               std::ranges::all_of(
                   range.successors,
                   [&](std::uint32_t next) { return add(marks_of_edge(block, next), terms.added); }) &&
               add(marks_of(block), terms.subtracted);
      case CountPlace::Kind::entry:
      case CountPlace::Kind::bypass:
      case CountPlace::Kind::vote:
      case CountPlace::Kind::iterations:
      case CountPlace::Kind::region_end:
      case CountPlace::Kind::leaves_apart: break;
    }
    return false;
  }

  static bool parts_in_two(const BasicBlock& block) {
    return block.targets.size() == 1 && block.fall_through != no_block &&
           block.fall_through != block.targets[0];
  }

  /// Together as many as the executions of a block.
  std::optional<Places> marks_of(std::uint32_t block) {
    if (block == region_->begin) return Places{{CountPlace::Kind::block_end, block, 0, 0}};
    if (!is_inside(block) || !is_beside(block)) return std::nullopt;
    if (once_[block]) return Places{{CountPlace::Kind::block_start, block, 0, 0}};
    const auto known = marks_of_.find(block);
    if (known != marks_of_.end()) return known->second;
    std::optional<Places> all = marks_of_ways_into(block);
    marks_of_[block] = all;
    return all;
  }

  /// Lanes of a branch that meet at the block come there as one, all others by each way on their own.
  std::optional<Places> marks_of_ways_into(std::uint32_t block) {
    Places all;
    const auto add = [&](const std::optional<Places>& some) {
      if (!some || all.size() + some->size() > most_marks) return false;
      all.insert(all.end(), some->begin(), some->end());
      return true;
    };
    std::set<std::uint32_t> met;
    for (const std::uint32_t branch : outermost_that_meet_at(block)) {
      const std::set<std::uint32_t> behind = blocks_between(branch, block);
      // Who comes there another way would be told apart from those by nothing.
      if (!std::ranges::all_of(behind, [&](std::uint32_t at) { return dominators_.dominates(branch, at); }) ||
          !add(marks_of(branch)))
        return std::nullopt;
      met.insert(behind.begin(), behind.end());
    }
    for (const std::uint32_t before : graph_.blocks[block].predecessors) {
      if (places_.is_reachable(before) && !met.contains(before) && !add(marks_of_edge(before, block)))
        return std::nullopt;
    }
    return all;
  }

  /// Branches of the region that part lanes which are together again at the block, without those behind
  /// another one of them.
  std::vector<std::uint32_t> outermost_that_meet_at(std::uint32_t block) const {
    std::vector<std::uint32_t> found;
    const auto known = meeting_at_.find(block);
    if (known == meeting_at_.end()) return found;
    const std::vector<std::uint32_t>& all = known->second;
    std::ranges::copy_if(all, std::back_inserter(found), [&](std::uint32_t branch) {
      return std::ranges::none_of(
          all, [&](std::uint32_t other) { return other != branch && dominators_.dominates(other, branch); });
    });
    return found;
  }

  /// Those that lanes pass from `begin` on before they come to `end`, `begin` among them.
  std::set<std::uint32_t> blocks_between(std::uint32_t begin, std::uint32_t end) const {
    std::set<std::uint32_t> between{begin};
    std::vector<std::uint32_t> left{begin};
    while (!left.empty()) {
      const std::uint32_t at = left.back();
      left.pop_back();
      for (const std::uint32_t next : graph_.blocks[at].successors) {
        if (next != end && between.insert(next).second) left.push_back(next);
      }
    }
    return between;
  }

  std::optional<Places> marks_of_edge(std::uint32_t source, std::uint32_t target) {
    if (places_.ways(source).size() == 1) return marks_of(source);
    if (!once_[source] || target == no_block || !places_.can_count(source, target)) return std::nullopt;
    Places found = places_.edge(source, target).places;
    if (found.size() != 1) return std::nullopt;
    switch (found[0].kind) {
      case CountPlace::Kind::guard_holds:
      case CountPlace::Kind::fall_through: return found;
      case CountPlace::Kind::block_start: break;
      default: return std::nullopt;  // several ways of a switch lead to the same place
    }
    return once_[target] ? std::optional(std::move(found)) : std::nullopt;
  }

  FunctionPlan& plan_;
  const std::size_t enough_;
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  const LoopNest& loops_;
  const DominatorTree& dominators_;
  const std::vector<std::uint32_t>& meetings_;  ///< immediate post-dominators
  const EdgePlaces places_;
  WarpRegions regions_;
  std::vector<std::vector<std::uint32_t>> elected_in_;  ///< counters, per block
  std::vector<bool> taken_;                             ///< blocks of regions that count by paths
  std::map<CountPlace, std::uint32_t> marks_;
  // Of the region that is looked at.
  const Region* region_ = nullptr;
  std::vector<bool> once_;
  std::map<std::uint32_t, std::optional<Places>> marks_of_;
  /// its branches that part lanes, by where these meet
  std::map<std::uint32_t, std::vector<std::uint32_t>> meeting_at_;
};

}  // namespace

void count_by_paths(FunctionPlan& plan, const CountedFunction& function, bool is_merged) {
  const std::size_t enough = is_merged ? enough_merged_elections : enough_elections;
  const auto elections = std::ranges::count_if(plan.counters, [](const Counter& counter) {
    return counter.counts_warps && counter.is_repeated && !counter.is_whole && !counter.places.empty();
  });
  if (static_cast<std::size_t>(elections) >= enough) Paths(plan, function, enough).run();
}

std::vector<std::uint32_t> path_begins(FunctionPlan plan, const CountedFunction& function, bool is_merged) {
  count_by_paths(plan, function, is_merged);
  std::vector<std::uint32_t> begins;
  for (const PathPlan::Region& region : plan.paths.regions) begins.push_back(region.begin);
  std::ranges::sort(begins);
  return begins;
}

}  // namespace lynxpp::ptx
