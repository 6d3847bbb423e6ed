#include "ptx/analysis/flow/dominance_frontiers.h"

#include <algorithm>
#include <utility>

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t single = 1;

}  // namespace

DominanceFrontiers::DominanceFrontiers(const ControlFlowGraph& graph, const DominatorTree& dominators)
    : depths_(graph.blocks.size(), 0), roots_(graph.blocks.size(), 0), nodes_(2) {
  const std::vector<std::uint32_t>& order = dominators.reverse_post_order();
  for (const std::uint32_t block : order) {
    if (dominators.immediate(block) != no_block) depths_[block] = depths_[dominators.immediate(block)] + 1;
  }
  find_joins(graph, dominators);
  // Visits children before their parents; a parent inherits the joins of its children that are no deeper than
  // itself.
  for (std::size_t index = order.size(); index-- > 0;) {
    const std::uint32_t block = order[index];
    const std::uint32_t parent = dominators.immediate(block);
    for (const std::uint32_t successor : graph.blocks[block].successors) {
      if (dominators.immediate(successor) != block)
        roots_[block] = insert(roots_[block], all(), join_of_[successor]);
    }
    roots_[block] = cut(roots_[block], all(), first_join_[depths_[block] + 1]);
    if (parent != no_block) roots_[parent] = merge(roots_[parent], roots_[block]);
  }
}

void DominanceFrontiers::find_joins(const ControlFlowGraph& graph, const DominatorTree& dominators) {
  std::uint32_t deepest = 0;
  for (const std::uint32_t block : dominators.reverse_post_order()) {
    deepest = std::max(deepest, depths_[block]);
    // The function's entry edge counts as a predecessor of the entry block.
    const std::size_t edges = graph.blocks[block].predecessors.size() + (block == 0 ? 1 : 0);
    if (edges > 1) joins_.push_back(block);
  }
  std::ranges::stable_sort(joins_, {}, [this](std::uint32_t block) { return depths_[block]; });
  join_of_.assign(graph.blocks.size(), no_block);
  first_join_.assign(deepest + 2, 0);
  for (std::uint32_t index = 0; index < joins_.size(); ++index) {
    join_of_[joins_[index]] = index;
    first_join_[depths_[joins_[index]] + 1] = index + 1;
  }
  for (std::size_t depth = 1; depth < first_join_.size(); ++depth)
    first_join_[depth] = std::max(first_join_[depth], first_join_[depth - 1]);
}

DominanceFrontiers::Tree DominanceFrontiers::make(Tree left, Tree right) {
  if (left == 0 && right == 0) return 0;
  nodes_.push_back({left, right});
  return static_cast<Tree>(nodes_.size() - 1);
}

DominanceFrontiers::Tree DominanceFrontiers::insert(Tree tree, Range range, std::uint32_t join) {
  if (range.end - range.begin == 1) return single;
  const Node node = nodes_[tree];
  const std::uint32_t middle = range.middle();
  if (join < middle) {
    const Tree left = insert(node.left, {range.begin, middle}, join);
    return tree != 0 && left == node.left ? tree : make(left, node.right);
  }
  const Tree right = insert(node.right, {middle, range.end}, join);
  return tree != 0 && right == node.right ? tree : make(node.left, right);
}

DominanceFrontiers::Tree DominanceFrontiers::merge(Tree first, Tree second) {
  if (first == 0 || first == second) return second;
  if (second == 0) return first;
  const Node one = nodes_[first];
  const Node two = nodes_[second];
  const Tree left = merge(one.left, two.left);
  const Tree right = merge(one.right, two.right);
  if (left == one.left && right == one.right) return first;
  if (left == two.left && right == two.right) return second;
  return make(left, right);
}

DominanceFrontiers::Tree DominanceFrontiers::cut(Tree tree, Range range, std::uint32_t end) {
  if (tree == 0 || range.end <= end) return tree;
  if (range.begin >= end) return 0;
  const Node node = nodes_[tree];
  const std::uint32_t middle = range.middle();
  const Tree left = cut(node.left, {range.begin, middle}, end);
  const Tree right = cut(node.right, {middle, range.end}, end);
  return left == node.left && right == node.right ? tree : make(left, right);
}

void DominanceFrontiers::append(Tree tree, Range range, std::uint32_t begin, Walk& walk,
                                std::vector<std::uint32_t>& joins) const {
  if (tree == 0 || range.end <= begin) return;
  ++walk.steps_;
  if (range.end - range.begin == 1) {
    joins.push_back(joins_[range.begin]);
    return;
  }
  // The whole subtree is taken, perhaps repeatedly.
  if (range.begin >= begin && std::exchange(walk.last_[tree], walk.number_) == walk.number_) return;
  append(nodes_[tree].left, {range.begin, range.middle()}, begin, walk, joins);
  append(nodes_[tree].right, {range.middle(), range.end}, begin, walk, joins);
}

void DominanceFrontiers::append(std::uint32_t block, std::uint32_t least_depth, Walk& walk,
                                std::vector<std::uint32_t>& joins) const {
  if (is_empty(block) || least_depth >= first_join_.size()) return;
  append(roots_[block], all(), first_join_[least_depth], walk, joins);
}

}  // namespace lynxpp::ptx
