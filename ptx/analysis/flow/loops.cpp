#include "ptx/analysis/flow/loops.h"

#include <algorithm>
#include <numeric>

#include "ptx/analysis/flow/strong_components.h"

namespace lynxpp::ptx {

LoopNest::LoopNest(const ControlFlowGraph& graph, const DominatorTree& dominators)
    : loop_of_(graph.blocks.size(), no_loop), in_irreducible_(graph.blocks.size(), false) {
  find_loops(graph, dominators);
  find_irreducible(graph, dominators);
}

std::vector<std::uint32_t> LoopNest::blocks_of(std::uint32_t loop) const {
  const auto begin = by_loop_.begin() + first_of_[enter_[loop]];
  std::vector<std::uint32_t> blocks(begin, begin + loops_[loop].block_count);
  std::ranges::sort(blocks);
  return blocks;
}

/// Creates the loops in reverse post-order of their headers, outer loops first, and fills them in the
/// opposite order, so that a walk can skip inner loops.
void LoopNest::find_loops(const ControlFlowGraph& graph, const DominatorTree& dominators) {
  for (const std::uint32_t header : dominators.reverse_post_order()) {
    Loop loop;
    loop.header = header;
    for (const std::uint32_t predecessor : graph.blocks[header].predecessors) {
      if (dominators.dominates(header, predecessor)) loop.latches.push_back(predecessor);
    }
    if (loop.latches.empty()) continue;
    std::ranges::sort(loop.latches);
    loops_.push_back(std::move(loop));
  }
  std::vector<std::uint32_t> outermost(loops_.size());
  for (auto loop = static_cast<std::uint32_t>(loops_.size()); loop-- > 0;) {
    outermost[loop] = loop;
    fill_loop(loop, outermost, graph, dominators);
  }
  number_loops();
  find_exits(graph);
}

/// Adds every block that reaches a latch without passing the header. Natural loops with different headers are
/// disjoint or nested, so a loop on the way is entirely inside. `outermost` maps a loop, with path
/// compression, to the outermost loop found so far.
void LoopNest::fill_loop(std::uint32_t loop, std::vector<std::uint32_t>& outermost,
                         const ControlFlowGraph& graph, const DominatorTree& dominators) {
  const auto find_outermost = [&](std::uint32_t inner) {
    while (outermost[inner] != inner) inner = outermost[inner] = outermost[outermost[inner]];
    return inner;
  };
  const std::uint32_t header = loops_[loop].header;
  std::vector<std::uint32_t> work = loops_[loop].latches;
  loop_of_[header] = loop;
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    std::uint32_t entered = block;
    if (loop_of_[block] == no_loop) {
      loop_of_[block] = loop;
    } else {
      const std::uint32_t inner = find_outermost(loop_of_[block]);
      if (inner == loop) continue;
      loops_[inner].parent = outermost[inner] = loop;
      entered = loops_[inner].header;
    }
    for (const std::uint32_t predecessor : graph.blocks[entered].predecessors) {
      if (dominators.is_reachable(predecessor)) work.push_back(predecessor);
    }
  }
}

void LoopNest::number_loops() {
  // A loop comes after its enclosing loops: sizes are summed from the back, numbers assigned from the front.
  std::vector<std::uint32_t> size(loops_.size(), 1);
  for (const std::uint32_t loop : loop_of_) {
    if (loop != no_loop) ++loops_[loop].block_count;
  }
  for (std::size_t loop = loops_.size(); loop-- > 0;) {
    const std::uint32_t parent = loops_[loop].parent;
    if (parent == no_loop) continue;
    size[parent] += size[loop];
    loops_[parent].block_count += loops_[loop].block_count;
  }
  enter_.resize(loops_.size());
  leave_.resize(loops_.size());
  std::uint32_t next_root = 0;
  std::vector<std::uint32_t> next(loops_.size());
  for (std::uint32_t loop = 0; loop < loops_.size(); ++loop) {
    const std::uint32_t parent = loops_[loop].parent;
    std::uint32_t& position = parent == no_loop ? next_root : next[parent];
    enter_[loop] = position;
    leave_[loop] = position += size[loop];
    next[loop] = enter_[loop] + 1;
    if (parent != no_loop) loops_[loop].depth = loops_[parent].depth + 1;
  }
  order_blocks();
}

/// Sorts by the loops' depth-first numbers, which keeps the blocks of a loop and its inner loops contiguous.
void LoopNest::order_blocks() {
  first_of_.assign(loops_.size() + 1, 0);
  for (const std::uint32_t loop : loop_of_) {
    if (loop != no_loop) ++first_of_[enter_[loop] + 1];
  }
  std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
  by_loop_.resize(first_of_.back());
  std::vector<std::uint32_t> next = first_of_;
  for (std::uint32_t block = 0; block < loop_of_.size(); ++block) {
    if (loop_of_[block] != no_loop) by_loop_[next[enter_[loop_of_[block]]]++] = block;
  }
}

void LoopNest::find_exits(const ControlFlowGraph& graph) {
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    const BasicBlock& node = graph.blocks[block];
    for (std::uint32_t loop = loop_of_[block]; loop != no_loop; loop = loops_[loop].parent) {
      const bool exits = node.leaves_function || std::ranges::any_of(node.successors, [&](std::uint32_t to) {
                           return !contains(loop, to);
                         });
      if (!exits) break;
      loops_[loop].exiting.push_back(block);
    }
  }
}

/// A graph is reducible if removing back edges to dominating headers leaves no cycle; any remaining cycle is
/// irreducible.
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
