#include "ptx/passes/counting/refine/complements.h"

#include "ptx/analysis/flow/walk.h"
#include "ptx/passes/cost_model.h"

namespace lynxpp::ptx {
namespace {

/// True if the block ends in a guarded branch to a block other than the next one.
bool ends_in_condition(const CountedFunction& kernel, std::uint32_t block) {
  const BasicBlock& range = kernel.graph().blocks[block];
  if (range.successors.size() != 2 || range.targets.size() != 1) return false;
  const Instruction& last = kernel.instructions()[range.end - 1];
  return last.guarded() && last.traits.kind == OpcodeClass::branch && last.op() != Op::brx;
}

/// Per block: true if all lanes of a warp reach it together, once, and an edge out of it is counted for all
/// of them.
std::vector<bool> blocks_for_votes(const CountedFunction& kernel, const EdgeSites& sites,
                                   const std::vector<CountedEdge>& edges) {
  const ControlFlowGraph& graph = kernel.graph();
  std::vector<bool> found(graph.blocks.size());
  // A lane maximum is known only after its loop.
  for (const CountedEdge& edge : edges) {
    if (edge.flow.source < graph.blocks.size() && edge.flow.can_count &&
        edge.counter.kind == CounterKind::converged &&
        !edge.counter.amounts_to(Increment::Amount::lane_maximum))
      found[edge.flow.source] = true;
  }
  std::vector<bool> is_passed(graph.blocks.size());  // by every thread that exits the kernel
  const std::vector<std::uint32_t>& post_dominators = kernel.analyses->post_dominators();
  for (std::uint32_t block = 0; block != no_block; block = post_dominators[block]) is_passed[block] = true;
  std::vector<bool> is_after_divergence(graph.blocks.size());
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    if ((kernel.analyses->uniformity().of_branch(block) & varies_in_warp) != 0) {
      walk_blocks(graph, graph.blocks[block].successors, no_block, is_after_divergence,
                  [](std::uint32_t) { return true; });
    }
  }
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block)
    found[block] = found[block] && is_passed[block] && !sites.repeats(block) && !is_after_divergence[block];
  return found;
}

}  // namespace

void count_complements(const CountedFunction& function, const EdgeSites& sites,
                       std::vector<CountedEdge>& edges) {
  if (!function.is_kernel()) return;
  const std::vector<BasicBlock>& blocks = function.graph().blocks;
  const auto outside = static_cast<std::uint32_t>(blocks.size());
  const std::vector<bool> can_vote = blocks_for_votes(function, sites, edges);
  for (CountedEdge& edge : edges) {
    const std::uint32_t target = edge.flow.target;
    if (edge.flow.source != outside || target == outside || edge.is_entry ||
        blocks[target].predecessors.size() != 1)
      continue;
    const std::uint32_t block = blocks[target].predecessors[0];
    if (!can_vote[block] || !ends_in_condition(function, block) ||
        !sites.likely().is_within_bounds(block, target))
      continue;
    edge.counter.increments = {
        {{ProgramPoint::Kind::before, block, blocks[block].end - 1}, {Condition::Kind::none_takes, target}}};
    edge.counter.weight = edge.flow.weight = cost::early_exit;
    edge.is_complement = true;
  }
}

}  // namespace lynxpp::ptx
