#include "ptx/analysis/flow/dominators.h"

#include <algorithm>

#include "ptx/analysis/flow/immediate_dominators.h"

namespace lynxpp::ptx {
namespace {

struct Visit {
  std::uint32_t block = 0;
  std::size_t next = 0;
};

}  // namespace

DominatorTree::DominatorTree(const ControlFlowGraph& graph) {
  order_blocks(graph);
  find_immediate(graph);
  number_tree();
}

void DominatorTree::order_blocks(const ControlFlowGraph& graph) {
  order_of_.assign(graph.blocks.size(), no_block);
  if (graph.blocks.empty()) return;
  std::vector<bool> seen(graph.blocks.size(), false);
  std::vector<Visit> stack{{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    Visit& visit = stack.back();
    const auto& successors = graph.blocks[visit.block].successors;
    if (visit.next < successors.size()) {
      const std::uint32_t successor = successors[visit.next++];
      if (!seen[successor]) {
        seen[successor] = true;
        stack.push_back({successor, 0});
      }
    } else {
      order_.push_back(visit.block);
      stack.pop_back();
    }
  }
  std::ranges::reverse(order_);
  for (std::uint32_t index = 0; index < order_.size(); ++index) order_of_[order_[index]] = index;
}

void DominatorTree::find_immediate(const ControlFlowGraph& graph) {
  if (graph.blocks.empty()) return;
  FlowGraph edges;
  for (const BasicBlock& block : graph.blocks) {
    edges.successors.emplace_back(block.successors);
    edges.predecessors.emplace_back(block.predecessors);
  }
  immediate_ = immediate_dominators(edges, 0);
}

void DominatorTree::number_tree() {
  children_.resize(immediate_.size());
  enter_.assign(immediate_.size(), 0);
  leave_.assign(immediate_.size(), 0);
  for (const std::uint32_t block : order_) {
    if (immediate_[block] != no_block) children_[immediate_[block]].push_back(block);
  }
  if (order_.empty()) return;
  std::uint32_t clock = 0;
  std::vector<Visit> stack{{0, 0}};
  enter_[0] = clock++;
  while (!stack.empty()) {
    Visit& visit = stack.back();
    if (visit.next < children_[visit.block].size()) {
      const std::uint32_t child = children_[visit.block][visit.next++];
      enter_[child] = clock++;
      stack.push_back({child, 0});
    } else {
      leave_[visit.block] = clock++;
      stack.pop_back();
    }
  }
}

}  // namespace lynxpp::ptx
