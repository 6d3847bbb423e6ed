#include "ptx/analysis/edge_placement.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lynxpp::ptx {
namespace {

/// Sets of nodes that the tree connects so far.
class Components {
 public:
  explicit Components(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }

  /// False: they were connected already.
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

/// Each component hangs from one node, the outside where it is part of it; the other nodes' balances give the
/// edges towards it.
void EdgePlacement::order_tree(const std::vector<std::vector<std::uint32_t>>& tree) {
  above_.assign(nodes_ + 1, 0);
  depth_.assign(nodes_ + 1, 0);
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
        above_[other] = edge;
        depth_[other] = depth_[node] + 1;
        pending.push_back(other);
      }
    }
  }
  std::ranges::reverse(steps_);  // found from the roots on
}

void EdgePlacement::solve(std::vector<std::uint64_t>& flows, std::optional<Walk> walk) const {
  std::vector<std::uint64_t> surplus(nodes_ + 1);  // in minus out, of the edges whose flow is settled
  if (walk) {
    ++surplus[walk->from];
    --surplus[walk->to];
  }
  const auto settle = [&](std::uint32_t edge) {
    surplus[edges_[edge].target] += flows[edge];
    surplus[edges_[edge].source] -= flows[edge];
  };
  for (const Step& step : steps_) flows[step.edge] = 0;
  for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) settle(edge);
  for (const Step& step : steps_) {
    const bool leaves = edges_[step.edge].source == step.node;
    flows[step.edge] = leaves ? surplus[step.node] : 0 - surplus[step.node];
    settle(step.edge);
  }
}

/// From the edge's target back to its source, by the tree.
std::vector<EdgePlacement::Flow> EdgePlacement::flows_of(std::uint32_t counted) const {
  std::vector<Flow> flows{{counted, 1}};
  std::uint32_t down = edges_[counted].source;
  std::uint32_t up = edges_[counted].target;
  while (down != up) {
    const bool climbs = depth_[up] >= depth_[down];
    std::uint32_t& node = climbs ? up : down;
    const std::uint32_t edge = above_[node];
    const bool leads_up = edges_[edge].source == node;
    flows.push_back({edge, leads_up == climbs ? 1 : ~std::uint64_t{0}});
    node = leads_up ? edges_[edge].target : edges_[edge].source;
  }
  return flows;
}

void EdgePlacement::express_by_counted(std::vector<std::uint64_t>& factors) const {
  std::vector<std::vector<std::uint32_t>> edges_at(nodes_ + 1);
  for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
    if (edges_[edge].source == edges_[edge].target) continue;  // enters as often as it leaves
    edges_at[edges_[edge].source].push_back(edge);
    edges_at[edges_[edge].target].push_back(edge);
  }
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    const std::uint64_t factor = std::exchange(factors[step.edge], 0);
    if (factor == 0) continue;
    const bool leaves = edges_[step.edge].source == step.node;
    for (const std::uint32_t edge : edges_at[step.node]) {
      if (edge == step.edge) continue;
      const bool is_opposite = (edges_[edge].source == step.node) != leaves;
      factors[edge] += is_opposite ? factor : 0 - factor;
    }
  }
}

}  // namespace lynxpp::ptx
