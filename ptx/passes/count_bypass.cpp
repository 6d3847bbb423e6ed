// Ways of warps that branches lead away from: a vote before the branch instead of an election behind it.
//
// Where all lanes of a warp come to a branch, a vote finds out whether some of them take it, and all lanes count the same. An election behind the branch reads
// a special register and takes twice the instructions, which also keep the assembler from making short bodies conditional instructions.
//
// Ways that nearly all warps take are counted where they are not taken.
//
// `if (index < size)` leads all warps but the last ones into the body of a kernel. A lane elected there to count adds to memory once for each warp, which
// short kernels feel; a vote before the branch costs next to nothing.
#include <algorithm>
#include <vector>

#include "ptx/passes/count_flow.h"
#include "ptx/passes/likely_ways.h"

namespace lynxpp::ptx {
namespace {

constexpr double rare = 0.1;
constexpr double vote_cost = 0.5;  // of an election's

class Bypasses {
 public:
  explicit Bypasses(const CountedFunction& function)
      : function_(function),
        graph_(function.unit->graph),
        instructions_(function.unit->function->body->instructions),
        ways_(function) {}

  void look_at(CountedEdge& edge, const std::vector<CountedEdge>& edges) const {
    const auto outside = static_cast<std::uint32_t>(graph_.blocks.size());
    const std::uint32_t target = edge.flow.target;
    if (edge.flow.source != outside || target == outside || edge.is_entry ||
        graph_.blocks[target].predecessors.size() != 1)
      return;
    const std::uint32_t block = graph_.blocks[target].predecessors[0];
    if (!parts(block) || !is_passed_whole(block, edges)) return;
    CountPlace place{CountPlace::Kind::vote, block, graph_.blocks[block].end - 1, target};
    if (is_passed_once(block) && is_first_to_part(block) && ways_.is_within_bounds(block, target)) {
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
    if (loops.depth_of(block) != 0 || loops.is_irreducible(block)) return false;
    const std::vector<std::uint32_t>& meetings = function_.analyses->post_dominators();
    std::uint32_t passed = 0;
    while (passed != block && passed != no_block) passed = meetings[passed];
    return passed == block;
  }

  /// No branch before parts lanes: wherever hardware lets lanes meet, the vote has all of them.
  bool is_first_to_part(std::uint32_t block) const {
    const Uniformity& uniformity = function_.analyses->uniformity();
    std::vector<bool> seen(graph_.blocks.size());
    std::vector<std::uint32_t> pending{block};
    seen[block] = true;
    while (!pending.empty()) {
      const BasicBlock& range = graph_.blocks[pending.back()];
      pending.pop_back();
      for (const std::uint32_t before : range.predecessors) {
        if (seen[before]) continue;
        if ((uniformity.of_branch(before) & varies_in_warp) != 0) return false;
        seen[before] = true;
        pending.push_back(before);
      }
    }
    return true;
  }

  /// A counter that is the most of a lane's is raised behind its loop.
  static bool is_passed_whole(std::uint32_t block, const std::vector<CountedEdge>& edges) {
    return std::ranges::any_of(edges, [&](const CountedEdge& edge) {
      return edge.flow.source == block && edge.flow.can_count && edge.counter.is_whole &&
             !edge.counter.is_maximum();
    });
  }

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  const std::vector<Instruction>& instructions_;
  const LikelyWays ways_;
};

}  // namespace

void count_bypasses(const CountedFunction& function, std::vector<CountedEdge>& edges) {
  if (!function.is_kernel) return;
  const Bypasses bypasses(function);
  for (CountedEdge& edge : edges) bypasses.look_at(edge, edges);
}

}  // namespace lynxpp::ptx
