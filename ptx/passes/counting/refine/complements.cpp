#include "ptx/passes/counting/refine/complements.h"

#include "ptx/analysis/flow/walk.h"

namespace lynxpp::ptx {
namespace {

constexpr double rare_skip = 0.1;

class Complements {
 public:
  Complements(const CountedFunction& function, const EdgePlaces& places,
              const std::vector<CountedEdge>& edges)
      : function_(function),
        places_(places),
        graph_(function.graph()),
        is_passed_(graph_.blocks.size()),
        is_behind_divergence_(graph_.blocks.size()),
        is_counted_behind_(graph_.blocks.size()) {
    const std::vector<std::uint32_t>& post_dominators = function.analyses->post_dominators();
    for (std::uint32_t block = 0; block != no_block; block = post_dominators[block]) is_passed_[block] = true;
    find_divergences();
    // A lane maximum is known after its loop only.
    for (const CountedEdge& edge : edges) {
      if (edge.flow.source < graph_.blocks.size() && edge.flow.can_count && edge.counter.is_whole &&
          !edge.counter.amounts_to(Increment::Amount::lane_maximum))
        is_counted_behind_[edge.flow.source] = true;
    }
  }

  void look_at(CountedEdge& edge) const {
    const auto outside = static_cast<std::uint32_t>(graph_.blocks.size());
    const std::uint32_t target = edge.flow.target;
    if (edge.flow.source != outside || target == outside || edge.is_entry ||
        graph_.blocks[target].predecessors.size() != 1)
      return;
    const std::uint32_t block = graph_.blocks[target].predecessors[0];
    if (!ends_in_condition(block) || !is_counted_behind_[block] || !is_passed_once(block) ||
        is_behind_divergence_[block] || !places_.likely().is_within_bounds(block, target))
      return;
    edge.counter.increments = {
        {{Place::Kind::before, block, graph_.blocks[block].end - 1}, {Condition::Kind::none_takes, target}}};
    edge.counter.weight = edge.flow.weight = rare_skip;
    edge.is_complement = true;
  }

 private:
  /// A guarded branch to another block than the next one.
  bool ends_in_condition(std::uint32_t block) const {
    const BasicBlock& range = graph_.blocks[block];
    if (range.successors.size() != 2 || range.targets.size() != 1) return false;
    const Instruction& last = function_.instructions()[range.end - 1];
    return last.guarded() && last.traits.kind == OpcodeClass::branch && !last.opcode.starts_with("brx");
  }

  /// By every thread that is launched.
  bool is_passed_once(std::uint32_t block) const { return !places_.repeats(block) && is_passed_[block]; }

  void find_divergences() {
    const Uniformity& uniformity = function_.analyses->uniformity();
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      if ((uniformity.of_branch(block) & varies_in_warp) == 0) continue;
      walk_blocks(graph_, graph_.blocks[block].successors, no_block, is_behind_divergence_,
                  [](std::uint32_t) { return true; });
    }
  }

  const CountedFunction& function_;
  const EdgePlaces& places_;
  const ControlFlowGraph& graph_;
  std::vector<bool> is_passed_;             ///< by every thread that exits the kernel
  std::vector<bool> is_behind_divergence_;  ///< a branch on some path to it may divide the lanes
  std::vector<bool> is_counted_behind_;     ///< an edge from it is counted for the whole warp
};

}  // namespace

void count_complements(const CountedFunction& function, const EdgePlaces& places,
                       std::vector<CountedEdge>& edges) {
  if (!function.is_kernel()) return;
  const Complements complements(function, places, edges);
  for (CountedEdge& edge : edges) complements.look_at(edge);
}

}  // namespace lynxpp::ptx
