#include "ptx/analysis/loops.h"

#include <algorithm>

#include "ptx/analysis/strong_components.h"

namespace lynxpp::ptx {

LoopNest::LoopNest(const ControlFlowGraph& graph, const DominatorTree& dominators)
    : loop_of_(graph.blocks.size(), no_loop), in_irreducible_(graph.blocks.size(), false) {
  find_loops(graph, dominators);
  find_irreducible(graph, dominators);
}

bool LoopNest::contains(std::uint32_t loop, std::uint32_t block) const {
  return std::ranges::binary_search(loops_[loop].blocks, block);
}

void LoopNest::find_loops(const ControlFlowGraph& graph, const DominatorTree& dominators) {
  std::vector<std::uint32_t> seen(graph.blocks.size(), no_loop);
  for (const std::uint32_t header : dominators.reverse_post_order()) {
    Loop loop;
    loop.header = header;
    for (const std::uint32_t predecessor : graph.blocks[header].predecessors) {
      if (dominators.dominates(header, predecessor)) loop.latches.push_back(predecessor);
    }
    if (loop.latches.empty()) continue;
    const auto index = static_cast<std::uint32_t>(loops_.size());
    // Everything that reaches a latch without going through the header.
    std::vector<std::uint32_t> work = loop.latches;
    seen[header] = index;
    loop.blocks.push_back(header);
    while (!work.empty()) {
      const std::uint32_t block = work.back();
      work.pop_back();
      if (seen[block] == index) continue;
      seen[block] = index;
      loop.blocks.push_back(block);
      for (const std::uint32_t predecessor : graph.blocks[block].predecessors) {
        if (dominators.is_reachable(predecessor)) work.push_back(predecessor);
      }
    }
    std::ranges::sort(loop.blocks);
    std::ranges::sort(loop.latches);
    // Loops around this one have been found before: their headers dominate this one.
    loop.parent = loop_of_[header];
    if (loop.parent != no_loop) loop.depth = loops_[loop.parent].depth + 1;
    for (const std::uint32_t block : loop.blocks) {
      loop_of_[block] = index;
      const BasicBlock& node = graph.blocks[block];
      const bool exits = std::ranges::any_of(node.successors, [&](std::uint32_t successor) {
        return !std::ranges::binary_search(loop.blocks, successor);
      });
      if (exits || node.leaves_function) loop.exiting.push_back(block);
    }
    loops_.push_back(std::move(loop));
  }
}

/// A graph is reducible when it has no cycle left without the jumps back to dominating headers; what is left is not.
void LoopNest::find_irreducible(const ControlFlowGraph& graph, const DominatorTree& dominators) {
  std::vector<std::vector<std::uint32_t>> forward(graph.blocks.size());
  for (const std::uint32_t block : dominators.reverse_post_order()) {
    for (const std::uint32_t successor : graph.blocks[block].successors) {
      if (!dominators.dominates(successor, block)) forward[block].push_back(successor);
    }
  }
  for (std::vector<std::uint32_t>& component : strong_components(forward)) {
    if (component.size() < 2) continue;
    for (const std::uint32_t block : component) in_irreducible_[block] = true;
    irreducible_.push_back(std::move(component));
  }
  std::ranges::sort(irreducible_);
}

}  // namespace lynxpp::ptx
