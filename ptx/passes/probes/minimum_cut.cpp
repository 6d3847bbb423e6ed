#include "ptx/passes/probes/minimum_cut.h"

#include <algorithm>

namespace lynxpp::ptx {

std::uint32_t MinimumCut::add_node() {
  edges_from_.emplace_back();
  return static_cast<std::uint32_t>(edges_from_.size() - 1);
}

void MinimumCut::add_edge(std::uint32_t from, std::uint32_t to, std::uint32_t cost) {
  edges_from_[from].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({to, cost});
  edges_from_[to].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinimumCut::push_along_shortest_path() {
  constexpr std::uint32_t unseen = 0xffffffff;
  std::vector<std::uint32_t> reached_by(edges_from_.size(), unseen);  // the edge
  std::vector<std::uint32_t> queue{source};
  for (std::size_t at = 0; at < queue.size() && reached_by[sink] == unseen; ++at) {
    for (const std::uint32_t edge : edges_from_[queue[at]]) {
      const std::uint32_t to = edges_[edge].to;
      if (edges_[edge].left == 0 || to == source || reached_by[to] != unseen) continue;
      reached_by[to] = edge;
      queue.push_back(to);
    }
  }
  if (reached_by[sink] == unseen) return false;
  const auto before = [&](std::uint32_t node) { return edges_[reached_by[node] ^ 1].to; };
  std::uint32_t fits = unbounded;
  for (std::uint32_t node = sink; node != source; node = before(node))
    fits = std::min(fits, edges_[reached_by[node]].left);
  for (std::uint32_t node = sink; node != source; node = before(node)) {
    edges_[reached_by[node]].left -= fits;
    edges_[reached_by[node] ^ 1].left += fits;
  }
  return true;
}

std::vector<bool> MinimumCut::source_side() {
  while (push_along_shortest_path()) {}
  // The sink side consists of the nodes that can still reach the sink.
  std::vector<bool> on_source_side(edges_from_.size(), true);
  std::vector<std::uint32_t> queue{sink};
  on_source_side[sink] = false;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const std::uint32_t edge : edges_from_[queue[at]]) {
      const std::uint32_t from = edges_[edge].to;
      if (edges_[edge ^ 1].left == 0 || !on_source_side[from]) continue;
      on_source_side[from] = false;
      queue.push_back(from);
    }
  }
  return on_source_side;
}

}  // namespace lynxpp::ptx
