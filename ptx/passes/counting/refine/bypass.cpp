// Ways of warps that branches lead away from: a vote before the branch instead of an election behind it.
//
// Where all lanes of a warp come to a branch, a vote finds out whether some of them take it, and all lanes
// count the same. An election behind the branch reads a special register and takes twice the instructions,
// which also keep the assembler from making short bodies conditional instructions.
//
// Ways that nearly all warps take are counted where they are not taken.
//
// `if (index < size)` leads all warps but the last ones into the body of a kernel. A lane elected there to
// count adds to memory once for each warp, which short kernels feel; a vote before the branch costs next to
// nothing.
#include <algorithm>
#include <vector>

#include "ptx/passes/counting/flow/flow.h"
#include "ptx/passes/counting/flow/likely_ways.h"

namespace lynxpp::ptx {
namespace {

constexpr double rare = 0.1;
constexpr double vote_cost = 0.5;  // of an election's

class Bypasses {
 public:
  Bypasses(const CountedFunction& function, const std::vector<CountedEdge>& edges)
      : function_(function),
        graph_(function.unit->graph),
        instructions_(function.unit->function->body->instructions),
        ways_(function),
        is_passed_(graph_.blocks.size()),
        is_behind_parting_(graph_.blocks.size()),
        is_counted_behind_(graph_.blocks.size()) {
    const std::vector<std::uint32_t>& meetings = function.analyses->post_dominators();
    for (std::uint32_t block = 0; block != no_block; block = meetings[block]) is_passed_[block] = true;
    find_partings();
    // A counter that is the most of a lane's is raised behind its loop.
    for (const CountedEdge& edge : edges) {
      if (edge.flow.source < graph_.blocks.size() && edge.flow.can_count && edge.counter.is_whole &&
          !edge.counter.is_maximum())
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
    if (!parts(block) || !is_counted_behind_[block]) return;
    CountPlace place{CountPlace::Kind::vote, block, graph_.blocks[block].end - 1, target};
    if (is_passed_once(block) && !is_behind_parting_[block] && ways_.is_within_bounds(block, target)) {
      place.kind = CountPlace::Kind::bypass;
      edge.counter.is_complement = true;
      edge.counter.weight = rare;
      edge.flow.weight = rare;
    } else if (edge.counter.is_repeated) {
      edge.counter.is_whole = true;
      edge.flow.weight = edge.counter.weight * vote_cost;
    } else {
      return;
    }
    edge.counter.places = {place};
  }

 private:
  /// Ends in a guarded branch to another block than the next one.
  bool parts(std::uint32_t block) const {
    const BasicBlock& range = graph_.blocks[block];
    if (range.successors.size() != 2 || range.targets.size() != 1) return false;
    const Instruction& last = instructions_[range.end - 1];
    return last.guarded() && last.traits.kind == OpcodeClass::branch && !last.opcode.starts_with("brx");
  }

  /// By every thread that is launched.
  bool is_passed_once(std::uint32_t block) const {
    const LoopNest& loops = function_.analyses->loops();
    return loops.depth_of(block) == 0 && !loops.is_irreducible(block) && is_passed_[block];
  }

  /// Where no branch before parts lanes, a vote has all of them, wherever hardware lets lanes meet.
  void find_partings() {
    const Uniformity& uniformity = function_.analyses->uniformity();
    std::vector<std::uint32_t> pending;
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      if ((uniformity.of_branch(block) & varies_in_warp) != 0) pending.push_back(block);
    }
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      for (const std::uint32_t next : graph_.blocks[block].successors) {
        if (is_behind_parting_[next]) continue;
        is_behind_parting_[next] = true;
        pending.push_back(next);
      }
    }
  }

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  const LikelyWays ways_;
  std::vector<bool> is_passed_;          ///< by every thread that leaves the kernel
  std::vector<bool> is_behind_parting_;  ///< a branch on some way to it may part lanes
  std::vector<bool> is_counted_behind_;  ///< one of the ways from it is counted for the whole warp
};

}  // namespace

void count_bypasses(const CountedFunction& function, std::vector<CountedEdge>& edges) {
  if (!function.is_kernel) return;
  const Bypasses bypasses(function, edges);
  for (CountedEdge& edge : edges) bypasses.look_at(edge);
}

}  // namespace lynxpp::ptx
