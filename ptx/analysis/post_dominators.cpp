// Immediate post-dominators: Cooper, Harvey and Kennedy's iterative dominators on the reversed graph, from a virtual
// exit behind every block that leaves the function.
#include <vector>

#include "ptx/analysis/control_flow_graph.h"

namespace lynxpp::ptx {
namespace {

class PostDominators {
 public:
  explicit PostDominators(const ControlFlowGraph& graph)
      : graph_(graph), exit_(static_cast<std::uint32_t>(graph.blocks.size())) {}

  std::vector<std::uint32_t> compute() {
    number_blocks();
    immediate_.assign(exit_ + 1, no_block);
    immediate_[exit_] = exit_;
    for (bool changed = true; changed;) {
      changed = false;
      // Reverse post-order of the reversed graph, the exit itself left out.
      for (std::size_t index = order_.size() - 1; index-- > 0;) changed |= update(order_[index]);
    }
    std::vector<std::uint32_t> result(immediate_.begin(), immediate_.end() - 1);
    for (std::uint32_t& block : result) {
      if (block == exit_) block = no_block;
    }
    return result;
  }

 private:
  /// Post-order of the reversed graph from the exit, without recursion.
  void number_blocks() {
    number_.assign(exit_ + 1, no_block);
    std::vector<bool> seen(exit_ + 1, false);
    std::vector<std::uint32_t> exits;
    for (std::uint32_t block = 0; block < exit_; ++block) {
      if (graph_.blocks[block].leaves_function) exits.push_back(block);
    }
    struct Visit {
      std::uint32_t block;
      std::size_t next = 0;
    };
    std::vector<Visit> stack{{exit_}};
    seen[exit_] = true;
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const auto& before = visit.block == exit_ ? exits : graph_.blocks[visit.block].predecessors;
      if (visit.next < before.size()) {
        const std::uint32_t predecessor = before[visit.next++];
        if (!seen[predecessor]) {
          seen[predecessor] = true;
          stack.push_back({predecessor});
        }
      } else {
        number_[visit.block] = static_cast<std::uint32_t>(order_.size());
        order_.push_back(visit.block);
        stack.pop_back();
      }
    }
  }

  bool update(std::uint32_t block) {
    std::uint32_t meet = graph_.blocks[block].leaves_function ? exit_ : no_block;
    for (const std::uint32_t successor : graph_.blocks[block].successors) {
      if (immediate_[successor] == no_block) continue;
      meet = meet == no_block ? successor : intersect(meet, successor);
    }
    if (immediate_[block] == meet) return false;
    immediate_[block] = meet;
    return true;
  }

  std::uint32_t intersect(std::uint32_t left, std::uint32_t right) const {
    while (left != right) {
      while (number_[left] < number_[right]) left = immediate_[left];
      while (number_[right] < number_[left]) right = immediate_[right];
    }
    return left;
  }

  const ControlFlowGraph& graph_;
  std::uint32_t exit_;
  std::vector<std::uint32_t> order_;   // post-order
  std::vector<std::uint32_t> number_;  // its inverse
  std::vector<std::uint32_t> immediate_;
};

}  // namespace

std::vector<std::uint32_t> immediate_post_dominators(const ControlFlowGraph& graph) {
  return PostDominators(graph).compute();
}

}  // namespace lynxpp::ptx
