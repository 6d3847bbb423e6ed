#include "ptx/analysis/calls/call_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ptx/parse.h"

namespace lynxpp::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Module calls() {
  Module module = module_of(R"(
.extern .func vprintf();
.func leaf() { ret; }
.func odd();
.func even() { call odd, (); ret; }
.func odd() { call even, (); call leaf, (); ret; }
.func self() { call self, (); ret; }
.func pointed() { ret; }
.global .u64 table[2] = {pointed, 0};
.visible .entry k() { .reg .b64 %rd<2>; call even, (); call vprintf, (); ret; }
.visible .entry p() { .reg .b64 %rd<2>; proto: .callprototype ()_ (); call %rd1, (), proto; ret; }
)");
  EXPECT_TRUE(parse_all_bodies(module));
  return module;
}

std::vector<std::string> names(const CallGraph& graph, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> result;
  for (const std::uint32_t node : nodes) result.push_back(graph.nodes()[node].function->name);
  return result;
}

/// Names are looked up in an index: a linear search would take hours.
TEST(CallGraph, ScalesToManyFunctions) {
  constexpr std::uint32_t functions = 300000;
  std::string text;
  for (std::uint32_t i = 0; i < functions; ++i) text += ".entry k" + std::to_string(i) + "() { ret; }\n";
  const Module module = module_of(text);
  const CallGraph graph(module);
  for (std::uint32_t i = 0; i < functions; ++i) ASSERT_EQ(graph.find(module.functions[i].name), i);
  EXPECT_EQ(graph.find("k"), functions);
}

TEST(CallGraph, FindsDirectAndIndirectCallees) {
  const Module module = calls();
  const CallGraph graph(module);
  const auto callees = [&](const char* name) {
    return names(graph, graph.nodes()[graph.find(name)].callees);
  };
  EXPECT_THAT(callees("leaf"), IsEmpty());
  EXPECT_THAT(callees("odd"), ElementsAre("leaf", "even"));
  EXPECT_THAT(callees("p"), ElementsAre("pointed")) << "through a pointer: whose address is taken";
  EXPECT_TRUE(graph.nodes()[graph.find("p")].calls_indirectly);
  EXPECT_THAT(graph.nodes()[graph.find("k")].external, ElementsAre("vprintf"));
  EXPECT_FALSE(graph.nodes()[graph.find("odd")].function->is_declaration());
  EXPECT_EQ(graph.find("nobody"), graph.nodes().size());
}

TEST(CallGraph, FindsRecursion) {
  const Module module = calls();
  const CallGraph graph(module);
  const auto recursive = [&](const char* name) { return graph.nodes()[graph.find(name)].is_recursive; };
  EXPECT_TRUE(recursive("even"));
  EXPECT_TRUE(recursive("odd"));
  EXPECT_TRUE(recursive("self"));
  EXPECT_FALSE(recursive("leaf"));
  EXPECT_FALSE(recursive("k")) << "reaches a cycle but is not in it";
}

TEST(CallGraph, FindsReachableFunctions) {
  const Module module = calls();
  const CallGraph graph(module);
  EXPECT_THAT(names(graph, graph.reachable_from(graph.find("k"))),
              testing::UnorderedElementsAre("k", "vprintf", "even", "odd", "leaf"));
  std::vector<std::uint32_t> place(graph.nodes().size());
  for (std::uint32_t index = 0; index < place.size(); ++index) place[graph.callees_first()[index]] = index;
  EXPECT_LT(place[graph.find("leaf")], place[graph.find("odd")]);
  EXPECT_LT(place[graph.find("even")], place[graph.find("k")]);
}

}  // namespace
}  // namespace lynxpp::ptx
