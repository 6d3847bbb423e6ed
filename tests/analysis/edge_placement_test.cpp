// Random walks over random graphs: every edge's flow is derived exactly from the counted edges.
#include "ptx/analysis/flow/edge_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lynxpp::ptx {
namespace {

struct Graph {
  std::uint32_t nodes = 0;
  std::vector<FlowEdge> edges;
  std::vector<std::vector<std::uint32_t>> out;  ///< outgoing edges of each node; the outside is the last node

  void add(std::uint32_t source, std::uint32_t target, double weight) {
    out[source].push_back(static_cast<std::uint32_t>(edges.size()));
    edges.push_back({source, target, weight});
  }
};

/// Contains loops, parallel edges, cycles with several entries, unreachable nodes, and several exits. Edge 0
/// is the entry.
Graph random_graph(std::mt19937& random) {
  Graph graph;
  graph.nodes = 1 + random() % 12;
  graph.out.resize(graph.nodes + 1);
  graph.add(graph.nodes, 0, 1);
  for (std::uint32_t node = 0; node < graph.nodes; ++node) {
    for (std::uint32_t count = random() % 4; count-- > 0;)
      graph.add(node, random() % graph.nodes, 1 << random() % 8);
    // Without an exit a walk might not terminate.
    graph.add(node, graph.nodes, 1);
  }
  return graph;
}

/// Walks from the outside to the outside.
std::vector<std::uint64_t> walk(const Graph& graph, std::mt19937& random, int walks) {
  std::vector<std::uint64_t> flows(graph.edges.size());
  for (int i = 0; i < walks; ++i) {
    std::uint32_t edge = 0;
    ++flows[edge];
    while (graph.edges[edge].target != graph.nodes) {
      const std::vector<std::uint32_t>& edges = graph.out[graph.edges[edge].target];
      edge = edges[random() % edges.size()];
      ++flows[edge];
    }
  }
  return flows;
}

/// Computes the flows of edges that are defined by others.
void define(const EdgePlacement& placement, std::vector<std::uint64_t>& flows) {
  for (const EdgePlacement::Definition& definition : placement.definitions()) {
    flows[definition.edge] = 0;
    for (const auto& [edge, is_negative] : definition.terms)
      flows[definition.edge] += is_negative ? 0 - flows[edge] : flows[edge];
  }
}

TEST(EdgePlacement, ReconstructsRandomWalks) {
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    Graph graph = random_graph(random);
    graph.edges[0].is_known = random() % 2 == 0;
    const auto placement = EdgePlacement::make(graph.nodes, graph.edges);
    ASSERT_TRUE(placement.has_value());
    const std::vector<std::uint64_t> expected = walk(graph, random, 20);
    std::vector<std::uint64_t> flows(expected.size(), 999);
    for (const std::uint32_t edge : placement->counted()) flows[edge] = expected[edge];
    if (graph.edges[0].is_known) flows[0] = expected[0];
    define(*placement, flows);
    ASSERT_EQ(flows, expected) << "graph " << round;
  }
}

TEST(EdgePlacement, StraightLineNeedsNoCounter) {
  // outside ▶ 0 ▶ 1 ▶ outside
  std::vector<FlowEdge> edges{{2, 0}, {0, 1}, {1, 2}};
  edges[0].is_known = true;
  const auto placement = EdgePlacement::make(2, edges);
  ASSERT_TRUE(placement.has_value());
  EXPECT_TRUE(placement->counted().empty());
  std::vector<std::uint64_t> flows{17, 0, 0};
  define(*placement, flows);
  EXPECT_EQ(flows, (std::vector<std::uint64_t>{17, 17, 17}));
}

TEST(EdgePlacement, CountsRareEdges) {
  // 0 branches to 1, mostly, or past it to 2.
  std::vector<FlowEdge> edges{{3, 0, 1, true}, {0, 1, 0.9}, {0, 2, 0.1}, {1, 2, 0.9}, {2, 3, 1}};
  const auto placement = EdgePlacement::make(3, edges);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->counted(), (std::vector<std::uint32_t>{2}));
}

TEST(EdgePlacement, AvoidsEdgesThatCannotBeCounted) {
  std::vector<FlowEdge> edges{{1, 0, 1, true}, {0, 1, 1, false, false}, {0, 1, 8}};
  const auto placement = EdgePlacement::make(1, edges);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->counted(), (std::vector<std::uint32_t>{2}));
  edges[2].can_count = false;
  EXPECT_FALSE(EdgePlacement::make(1, edges).has_value()) << "two unknowns, one balance";
}

}  // namespace
}  // namespace lynxpp::ptx
