// Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems"): semidominators by path
// compression, then the nearest common ancestor in the tree built so far. Nodes are identified by their
// depth-first number.
#include "ptx/analysis/flow/immediate_dominators.h"

#include <algorithm>

#include "ptx/analysis/flow/control_flow_graph.h"

namespace lynxpp::ptx {
namespace {

class SemiNca {
 public:
  SemiNca(const FlowGraph& graph, std::uint32_t root)
      : graph_(graph), number_(graph.successors.size(), no_block) {
    number_nodes(root);
  }

  std::vector<std::uint32_t> run() {
    find_semidominators();
    std::vector<std::uint32_t> dominator = parent_;
    std::vector<std::uint32_t> result(number_.size(), no_block);
    for (std::uint32_t at = 1; at < node_.size(); ++at) {
      while (dominator[at] > semi_[at]) dominator[at] = dominator[dominator[at]];
      result[node_[at]] = node_[dominator[at]];
    }
    return result;
  }

 private:
  void number_nodes(std::uint32_t root) {
    struct Visit {
      std::uint32_t node = 0;
      std::size_t next = 0;
    };
    std::vector<Visit> stack;
    const auto enter = [&](std::uint32_t node, std::uint32_t parent) {
      number_[node] = static_cast<std::uint32_t>(node_.size());
      node_.push_back(node);
      parent_.push_back(parent);
      stack.push_back({node, 0});
    };
    enter(root, 0);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next == graph_.successors[visit.node].size()) {
        stack.pop_back();
        continue;
      }
      const std::uint32_t successor = graph_.successors[visit.node][visit.next++];
      if (number_[successor] == no_block) enter(successor, number_[visit.node]);
    }
  }

  void find_semidominators() {
    const auto count = static_cast<std::uint32_t>(node_.size());
    semi_.resize(count);
    for (std::uint32_t at = 0; at < count; ++at) semi_[at] = at;
    best_ = semi_;
    ancestor_ = parent_;
    for (std::uint32_t at = count; at-- > 1;) {
      for (const std::uint32_t before : graph_.predecessors[node_[at]]) {
        if (number_[before] != no_block)
          semi_[at] = std::min(semi_[at], semi_[evaluate(number_[before], at + 1)]);
      }
    }
  }

  /// Returns the node of least semidominator on the tree path to `at`; only nodes from `linked` on are in the
  /// forest.
  std::uint32_t evaluate(std::uint32_t at, std::uint32_t linked) {
    path_.clear();
    std::uint32_t top = at;
    for (; top >= linked && ancestor_[top] >= linked; top = ancestor_[top]) path_.push_back(top);
    for (; !path_.empty(); path_.pop_back()) {
      const std::uint32_t below = path_.back();
      if (semi_[best_[top]] < semi_[best_[below]]) best_[below] = best_[top];
      ancestor_[below] = ancestor_[top];
      top = below;
    }
    return best_[at];
  }

  const FlowGraph& graph_;
  std::vector<std::uint32_t> number_;  // by node; no_block: not reached
  std::vector<std::uint32_t> node_;    // by number
  std::vector<std::uint32_t> parent_, ancestor_, semi_, best_;
  std::vector<std::uint32_t> path_;
};

}  // namespace

std::vector<std::uint32_t> immediate_dominators(const FlowGraph& graph, std::uint32_t root) {
  return SemiNca(graph, root).run();
}

}  // namespace lynxpp::ptx
