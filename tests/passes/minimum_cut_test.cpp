// Compares the minimum cut with all cuts of small random graphs.
#include "ptx/passes/probes/minimum_cut.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace lynxpp::ptx {
namespace {

TEST(MinimumCut, CutsAChainAtItsCheapestEdge) {
  MinimumCut cut;
  const std::uint32_t first = cut.add_node(), second = cut.add_node();
  cut.add_edge(MinimumCut::source, first, 7);
  cut.add_edge(first, second, 2);
  cut.add_edge(second, MinimumCut::sink, 5);
  EXPECT_EQ(cut.source_side(), (std::vector<bool>{true, false, true, false}));
}

TEST(MinimumCut, PrefersTheCutNearTheSinkAtEqualCost) {
  MinimumCut cut;
  const std::uint32_t node = cut.add_node();
  cut.add_edge(MinimumCut::source, node, 3);
  cut.add_edge(node, MinimumCut::sink, 3);
  EXPECT_TRUE(cut.source_side()[node]);
}

TEST(MinimumCut, IsolatedNodesStayOnTheSourceSide) {
  MinimumCut cut;
  EXPECT_TRUE(cut.source_side()[MinimumCut::source]);
  MinimumCut another;
  const std::uint32_t node = another.add_node();
  EXPECT_TRUE(another.source_side()[node]);
}

struct Edge {
  std::uint32_t from, to, cost;
};

std::uint64_t cost_of(const std::vector<Edge>& edges, const std::vector<bool>& source_side) {
  std::uint64_t sum = 0;
  for (const Edge& edge : edges) {
    if (source_side[edge.from] && !source_side[edge.to]) sum += edge.cost;
  }
  return sum;
}

TEST(MinimumCut, MatchesTheCheapestOfAllCuts) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t inner = 1 + below(7), nodes = inner + 2;
    MinimumCut cut;
    for (std::uint32_t i = 0; i < inner; ++i) cut.add_node();
    std::vector<Edge> edges;
    for (std::uint32_t i = 0; i < 3 * nodes; ++i) {
      const Edge edge{below(nodes), below(nodes), below(9)};
      if (edge.from == edge.to) continue;
      edges.push_back(edge);
      cut.add_edge(edge.from, edge.to, edge.cost);
    }
    const std::vector<bool> found = cut.source_side();
    ASSERT_TRUE(found[MinimumCut::source]);
    ASSERT_FALSE(found[MinimumCut::sink]);
    for (std::uint32_t choice = 0; choice < 1u << inner; ++choice) {
      std::vector<bool> other{true, false};
      for (std::uint32_t i = 0; i < inner; ++i) other.push_back((choice >> i & 1) != 0);
      const std::uint64_t cost = cost_of(edges, other);
      ASSERT_LE(cost_of(edges, found), cost) << "round " << round << ", cut " << choice;
      if (cost != cost_of(edges, found)) continue;
      for (std::uint32_t node = 0; node < nodes; ++node)
        ASSERT_TRUE(found[node] || !other[node]) << "round " << round << ": more could be with the source";
    }
  }
}

}  // namespace
}  // namespace lynxpp::ptx
