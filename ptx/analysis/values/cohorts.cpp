#include "ptx/analysis/values/cohorts.h"

#include <algorithm>

namespace lynxpp::ptx {

bool may_join_lanes(const Instruction& instruction) {
  return instruction.traits.kind == OpcodeClass::barrier || instruction.has(Modifier::sync);
}

LaneCohorts::LaneCohorts(const Function& function, const ControlFlowGraph& graph,
                         const DominatorTree& dominators, const LoopNest& loops, const Uniformity& uniformity)
    : function_(function),
      graph_(graph),
      dominators_(dominators),
      loops_(loops),
      uniformity_(uniformity),
      links_(graph.blocks.size(), Link::apart),
      converged_(graph.blocks.size()),
      budget_(100000 + 64 * graph.blocks.size()) {
  for (const std::uint32_t block : dominators.reverse_post_order()) {
    const std::uint32_t dominator = dominators.immediate(block);
    if (dominator == no_block) {
      converged_[block] = true;
      continue;
    }
    links_[block] = find_link(block);
    converged_[block] = links_[block] != Link::apart && converged_[dominator];
  }
}

/// Examines the blocks on paths from the dominator that do not pass it again.
LaneCohorts::Link LaneCohorts::find_link(std::uint32_t block) const {
  const std::uint32_t dominator = dominators_.immediate(block);
  const auto& instructions = function_.body->instructions;
  bool joins = false;
  std::vector<std::uint32_t> seen;
  std::vector<std::uint32_t> pending = graph_.blocks[block].predecessors;
  while (!pending.empty()) {
    const std::uint32_t at = pending.back();
    pending.pop_back();
    if (!dominators_.is_reachable(at) || std::ranges::find(seen, at) != seen.end()) continue;
    if (budget_ == 0) return Link::apart;
    --budget_;
    seen.push_back(at);
    const BasicBlock& node = graph_.blocks[at];
    const bool ends_in_call = node.size() != 0 && instructions[node.end - 1].traits.kind == OpcodeClass::call;
    if (ends_in_call || loops_.is_irreducible(at) || (uniformity_.of_branch(at) & varies_in_warp) != 0)
      return Link::apart;
    joins |= std::any_of(instructions.begin() + node.begin, instructions.begin() + node.end, may_join_lanes);
    if (at != dominator) pending.insert(pending.end(), node.predecessors.begin(), node.predecessors.end());
  }
  return joins ? Link::joining : Link::together;
}

}  // namespace lynxpp::ptx
