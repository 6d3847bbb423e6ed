#include "ptx/analysis/flow/edge_placement.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lynxpp::ptx {
namespace {

/// Sets of nodes that the tree has connected so far.
class Components {
 public:
  explicit Components(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }

  /// Returns false if they were already connected.
  bool join(std::uint32_t left, std::uint32_t right) {
    left = root(left);
    right = root(right);
    parent_[left] = right;
    return left != right;
  }

 private:
  std::uint32_t root(std::uint32_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

  std::vector<std::uint32_t> parent_;
};

}  // namespace

std::optional<EdgePlacement> EdgePlacement::make(std::uint32_t nodes, std::vector<FlowEdge> edges) {
  EdgePlacement placement;
  placement.nodes_ = nodes;
  placement.edges_ = std::move(edges);
  const std::vector<FlowEdge>& all = placement.edges_;

  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_known) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::uint32_t left, std::uint32_t right) {
    if (all[left].can_count != all[right].can_count) return !all[left].can_count;
    return all[left].weight > all[right].weight;
  });
  Components components(nodes + 1);
  std::vector<std::vector<std::uint32_t>> tree(nodes + 1);
  for (const std::uint32_t edge : order) {
    if (components.join(all[edge].source, all[edge].target)) {
      tree[all[edge].source].push_back(edge);
      tree[all[edge].target].push_back(edge);
    } else if (all[edge].can_count) {
      placement.counted_.push_back(edge);
    } else {
      return std::nullopt;
    }
  }
  std::ranges::sort(placement.counted_);
  placement.order_tree(tree);
  return placement;
}

/// Roots each component at one node, the outside if it contains it; the balances of the other nodes give the
/// edges towards the root.
void EdgePlacement::order_tree(const std::vector<std::vector<std::uint32_t>>& tree) {
  std::vector<bool> reached(nodes_ + 1);
  std::vector<std::uint32_t> pending;
  for (std::uint32_t i = 0; i <= nodes_; ++i) {
    const std::uint32_t root = nodes_ - i;  // the outside first
    if (reached[root]) continue;
    reached[root] = true;
    pending.push_back(root);
    while (!pending.empty()) {
      const std::uint32_t node = pending.back();
      pending.pop_back();
      for (const std::uint32_t edge : tree[node]) {
        const std::uint32_t other = edges_[edge].source == node ? edges_[edge].target : edges_[edge].source;
        if (reached[other]) continue;
        reached[other] = true;
        steps_.push_back({edge, other});
        pending.push_back(other);
      }
    }
  }
  std::ranges::reverse(steps_);  // found from the roots on
}

std::vector<EdgePlacement::Definition> EdgePlacement::definitions() const {
  std::vector<std::vector<std::uint32_t>> edges_at(nodes_ + 1);
  for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
    if (edges_[edge].source == edges_[edge].target) continue;  // enters as often as it leaves
    edges_at[edges_[edge].source].push_back(edge);
    edges_at[edges_[edge].target].push_back(edge);
  }
  std::vector<Definition> found;
  found.reserve(steps_.size());
  for (const Step& step : steps_) {
    Definition definition{step.edge, {}};
    const bool leaves = edges_[step.edge].source == step.node;
    for (const std::uint32_t edge : edges_at[step.node]) {
      if (edge == step.edge) continue;
      const bool leaves_too = edges_[edge].source == step.node;
      definition.terms.push_back({edge, leaves_too == leaves});
    }
    found.push_back(std::move(definition));
  }
  return found;
}

}  // namespace lynxpp::ptx
