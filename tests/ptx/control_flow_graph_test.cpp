#include "ptx/analysis/flow/control_flow_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parse.h"

namespace lynxpp::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Graph {
  explicit Graph(const std::string& body)
      : module(module_of_body(body)), graph(build_control_flow_graph(module.functions.at(0))) {}
  std::size_t size() const { return graph.blocks.size(); }
  const BasicBlock& operator[](std::size_t index) const { return graph.blocks.at(index); }
  std::vector<std::uint32_t> post_dominators() const { return immediate_post_dominators(graph); }

  Module module;
  ControlFlowGraph graph;
};

TEST(Graph, StraightLineIsOneBlock) {
  const Graph graph("mov.u32 %r1, 0;\nadd.s32 %r1, %r1, 1;\nret;");
  ASSERT_EQ(graph.size(), 1U);
  EXPECT_EQ(graph[0].size(), 3U);
  EXPECT_TRUE(graph[0].leaves_function);
  EXPECT_EQ(graph[0].fall_through, no_block);
  EXPECT_EQ(graph[0].line, 6U);
  EXPECT_THAT(graph[0].successors, IsEmpty());
  EXPECT_THAT(graph.graph.block_of, ElementsAre(0, 0, 0));
  EXPECT_THAT(graph.post_dominators(), ElementsAre(no_block));
}

TEST(Graph, DiamondHasFourBlocks) {
  const Graph graph("@%p1 bra A;\nmov.u32 %r1, 0;\nbra.uni B;\nA: mov.u32 %r1, 1;\nB: ret;");
  ASSERT_EQ(graph.size(), 4U);
  EXPECT_THAT(graph[0].successors, ElementsAre(2, 1)) << "taken first";
  EXPECT_EQ(graph[0].fall_through, 1U);
  EXPECT_THAT(graph[0].targets, ElementsAre(2));
  EXPECT_THAT(graph[1].successors, ElementsAre(3));
  EXPECT_EQ(graph[1].fall_through, no_block);
  EXPECT_THAT(graph[2].successors, ElementsAre(3));
  EXPECT_EQ(graph[2].fall_through, 3U);
  EXPECT_THAT(graph[3].predecessors, ElementsAre(1, 2));
  EXPECT_EQ(graph.graph.block_of_label("A"), 2U);
  EXPECT_EQ(graph.graph.block_of_label("nowhere"), no_block);
  EXPECT_THAT(graph.post_dominators(), ElementsAre(3, 3, 3, no_block));
}

TEST(Graph, LoopWithBreakHasItsEdges) {
  const Graph graph("L: @%p1 bra END;\nadd.s32 %r1, %r1, 1;\n@%p2 bra L;\nbra L;\nEND: ret;");
  ASSERT_EQ(graph.size(), 4U);
  EXPECT_THAT(graph[0].successors, ElementsAre(3, 1));
  EXPECT_THAT(graph[1].successors, ElementsAre(0, 2));
  EXPECT_THAT(graph[2].successors, ElementsAre(0));
  EXPECT_THAT(graph[0].predecessors, ElementsAre(1, 2));
  EXPECT_THAT(graph.post_dominators(), ElementsAre(3, 0, 0, no_block));
}

TEST(Graph, CallsAndGuardedExitsEndBlocks) {
  const Graph graph("call f;\n@%p1 ret;\n@%p2 exit;\n@%p3 trap;\nmov.u32 %r1, 0;\nexit;");
  ASSERT_EQ(graph.size(), 5U);
  EXPECT_FALSE(graph[0].leaves_function);
  EXPECT_THAT(graph[0].successors, ElementsAre(1));
  for (std::uint32_t block = 1; block < 4; ++block) {
    EXPECT_TRUE(graph[block].leaves_function);
    EXPECT_THAT(graph[block].successors, ElementsAre(block + 1));
  }
  EXPECT_TRUE(graph[4].leaves_function);
  EXPECT_THAT(graph.post_dominators(), ElementsAre(1, no_block, no_block, no_block, no_block));
}

TEST(Graph, LabelsShareBlocksAndMayEndTheBody) {
  const Graph graph("A: B:\nmov.u32 %r1, 0;\n@%p1 bra END;\nC:\nret;\nEND:");
  ASSERT_EQ(graph.size(), 3U);
  EXPECT_EQ(graph.graph.block_of_label("A"), 0U);
  EXPECT_EQ(graph.graph.block_of_label("B"), 0U);
  EXPECT_EQ(graph.graph.block_of_label("C"), 1U);
  EXPECT_EQ(graph.graph.block_of_label("END"), 2U);
  EXPECT_EQ(graph[2].size(), 0U);
  EXPECT_TRUE(graph[2].leaves_function);
  EXPECT_THAT(graph[0].successors, ElementsAre(2, 1));
}

TEST(Graph, BodyMayFallOffTheEnd) {
  const Graph graph("mov.u32 %r1, 0;\n@%p1 bra A;\nA:");
  ASSERT_EQ(graph.size(), 2U);
  EXPECT_THAT(graph[0].successors, ElementsAre(1)) << "no duplicates";
  EXPECT_EQ(graph[0].fall_through, 1U);
  const Graph guarded("L: @%p1 bra L;");
  ASSERT_EQ(guarded.size(), 1U);
  EXPECT_TRUE(guarded[0].leaves_function);
}

TEST(Graph, LabelsResolveToTheInnermostScope) {
  const Graph siblings(
      "{ again: @%p1 bra again; }\n{ again: @%p1 bra again; bra done; done: }\n{ done: bra done; }");
  ASSERT_EQ(siblings.size(), 4U);
  EXPECT_THAT(siblings[0].targets, ElementsAre(0));
  EXPECT_THAT(siblings[1].targets, ElementsAre(1));
  EXPECT_THAT(siblings[2].targets, ElementsAre(3));
  EXPECT_THAT(siblings[3].targets, ElementsAre(3));
  const Graph nested("{ @%p1 bra done; { done: @%p1 bra done; } }\ndone: { bra done; }");
  EXPECT_THAT(nested[0].targets, ElementsAre(2));
  EXPECT_THAT(nested[1].targets, ElementsAre(1));
  EXPECT_THAT(nested[2].targets, ElementsAre(2));
  const Graph between("{ done: @%p1 bra done; { bra done; } }\ndone: ret;");
  EXPECT_THAT(between[1].targets, ElementsAre(0)) << "from the enclosing scope, not the outermost one";
  const Graph elsewhere("{ done: ret; }\n{ bra done; }");
  EXPECT_THAT(elsewhere[1].targets, ElementsAre()) << "the label is in another scope";
}

TEST(Graph, TargetListsResolveToTheInnermostScope) {
  const Graph graph(
      "{ ts: .branchtargets A, B; brx.idx %r1, ts; A: ret; B: ret; }\n"
      "{ ts: .branchtargets B, A; brx.idx %r1, ts; A: ret; B: ret; }");
  EXPECT_THAT(graph[0].targets, ElementsAre(1, 2));
  EXPECT_THAT(graph[3].targets, ElementsAre(5, 4));
}

TEST(Graph, EmptyBodyIsOneBlock) {
  const Graph graph("");
  ASSERT_EQ(graph.size(), 1U);
  EXPECT_EQ(graph[0].size(), 0U);
  EXPECT_TRUE(graph[0].leaves_function);
}

TEST(Graph, IndexedBranchHasAllTargets) {
  const Graph graph("ts: .branchtargets A, B, A;\nbrx.idx %r1, ts;\nA: ret;\nB: ret;\nC: ret;");
  EXPECT_THAT(graph[0].targets, ElementsAre(1, 2, 1)) << "the list as written";
  EXPECT_THAT(graph[0].successors, ElementsAre(1, 2));
  const Graph unknown("brx.idx %r1, nowhere;\nA: ret;\nB: ret;");
  EXPECT_THAT(unknown[0].successors, ElementsAre(1, 2)) << "every label";
}

TEST(Graph, LabelsOfTheBranchsOwnScopeComeFirst) {
  const Graph graph("{ L: @%p1 bra L; }\n{ L: @%p1 bra L; }\n{ @%p1 bra OUT; }\nOUT: ret;");
  ASSERT_EQ(graph.size(), 4U);
  EXPECT_THAT(graph[0].targets, ElementsAre(0));
  EXPECT_THAT(graph[1].targets, ElementsAre(1));
  EXPECT_THAT(graph[2].targets, ElementsAre(3));
}

TEST(Graph, UnknownTargetHasNoSuccessor) {
  const Graph graph("bra NOWHERE;\nret;");
  EXPECT_THAT(graph[0].successors, IsEmpty());
  EXPECT_FALSE(graph[0].leaves_function);
}

TEST(PostDominators, EndlessLoopsHaveNone) {
  const Graph graph("@%p1 bra OUT;\nL: bra L;\nOUT: ret;");
  EXPECT_THAT(graph.post_dominators(), ElementsAre(2, no_block, no_block));
}

TEST(PostDominators, HandleIrreducibleRegions) {
  const Graph graph("@%p1 bra B;\nA: @%p2 bra B;\nbra OUT;\nB: @%p3 bra A;\nOUT: ret;");
  ASSERT_EQ(graph.size(), 5U);
  EXPECT_THAT(graph.post_dominators(), ElementsAre(4, 4, 4, 4, no_block));
}

TEST(PostDominators, HandleSwitchesWithFallThrough) {
  const Graph graph(
      "ts: .branchtargets A, B, C;\nbrx.idx %r1, ts;\nA: mov.u32 %r1, 0;\nB: bra END;\nC: mov.u32 %r1, "
      "1;\nEND: ret;");
  EXPECT_THAT(graph.post_dominators(), ElementsAre(4, 2, 4, 4, no_block));
}

/// Block b post-dominates a if every path from a to an exit passes b: decided by search, without a tree.
bool post_dominates(const ControlFlowGraph& graph, std::uint32_t b, std::uint32_t a) {
  std::vector<bool> seen(graph.blocks.size(), false);
  std::vector<std::uint32_t> stack{a};
  while (!stack.empty()) {
    const std::uint32_t block = stack.back();
    stack.pop_back();
    if (block == b || seen[block]) continue;
    seen[block] = true;
    if (graph.blocks[block].leaves_function) return false;
    for (const std::uint32_t successor : graph.blocks[block].successors) stack.push_back(successor);
  }
  return true;
}

bool reaches_exit(const ControlFlowGraph& graph, std::uint32_t block) {
  return !post_dominates(graph, no_block, block);
}

TEST(PostDominators, MatchTheDefinitionOnRandomGraphs) {
  std::uint32_t state = 1;
  const auto random = [&state](std::uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
  };
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t count = 2 + random(9);
    std::string text;
    for (std::uint32_t block = 0; block < count; ++block) {
      text += "L" + std::to_string(block) + ": add.s32 %r1, %r1, 1;\n";
      const std::string target = "L" + std::to_string(random(count));
      const char* const forms[] = {"@%p1 bra ", "bra ", "@%p1 bra ", "@%p1 ret; // "};
      text += forms[random(4)] + target + ";\n";
    }
    const Graph graph(text + (random(2) == 0 ? "ret;" : ""));
    const auto immediate = graph.post_dominators();
    for (std::uint32_t block = 0; block < graph.size(); ++block) {
      if (!reaches_exit(graph.graph, block)) {
        EXPECT_EQ(immediate[block], no_block);
        continue;
      }
      // The immediate one is the strict post-dominator that all other strict ones post-dominate.
      std::vector<std::uint32_t> strict;
      for (std::uint32_t other = 0; other < graph.size(); ++other) {
        if (other != block && post_dominates(graph.graph, other, block)) strict.push_back(other);
      }
      if (strict.empty()) {
        EXPECT_EQ(immediate[block], no_block) << text;
        continue;
      }
      ASSERT_THAT(strict, testing::Contains(immediate[block])) << "block " << block << "\n" << text;
      for (const std::uint32_t other : strict)
        EXPECT_TRUE(post_dominates(graph.graph, other, immediate[block])) << text;
    }
  }
}

}  // namespace
}  // namespace lynxpp::ptx
