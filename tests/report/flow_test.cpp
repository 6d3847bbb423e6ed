// Branches that belong to loops, and threads that enter a loop, by counts of small control flow graphs.
#include "report/findings/flow.h"

#include <gtest/gtest.h>

namespace lynxpp::report {
namespace {

constexpr std::uint32_t none = SitesRecord::unknown;

/// Blocks of two instructions each; the second one is the branch.
struct Flow {
  SitesRecord sites;
  FlowCounts counts;

  void add(std::uint32_t falls_to, std::uint32_t branches_to, std::uint32_t join, std::uint32_t loop,
           double threads, double warps, double divergent = 0) {
    const auto first = static_cast<std::uint32_t>(2 * sites.blocks.size());
    sites.blocks.push_back({0, first, 2, falls_to, branches_to, join, loop});
    counts.threads.push_back(threads);
    counts.warps.push_back(warps);
    counts.divergent.insert(counts.divergent.end(), {0, divergent});
  }
};

TEST(FlowCosts, BranchBackToTheHeaderBelongsToTheLoop) {
  Flow flow;
  flow.add(1, none, 1, none, 320, 10);
  flow.add(2, none, 2, none, 960, 40);
  flow.add(3, 1, none, 1, 960, 40, 20);  // a `continue` for some lanes; the others go to the rest of the body
  flow.add(4, 1, 4, 1, 640, 30, 10);
  flow.add(none, none, none, none, 320, 10);
  const FlowCosts costs = flow_costs_of(flow.sites, flow.counts);
  EXPECT_TRUE(costs.branches.empty()) << "both are of the loop";
  ASSERT_EQ(costs.loops.size(), 1u);
  EXPECT_EQ(costs.loops[0].instruction, 7u) << "where it is left";
  EXPECT_EQ(costs.loops[0].warp_entries, 10);
  EXPECT_EQ(costs.loops[0].thread_entries, 320);
}

TEST(FlowCosts, BranchInsideALoopDoesNotBelongToIt) {
  Flow flow;
  flow.add(1, none, 1, none, 320, 10);
  flow.add(2, 3, 3, none, 960, 30, 15);
  flow.add(3, none, 3, 1, 480, 30);
  flow.add(4, 1, 4, 1, 960, 30);
  flow.add(none, none, none, none, 320, 10);
  const FlowCosts costs = flow_costs_of(flow.sites, flow.counts);
  ASSERT_EQ(costs.branches.size(), 1u);
  EXPECT_EQ(costs.branches[0].instruction, 3u);
  EXPECT_EQ(costs.branches[0].lost, 15 * 2) << "half of the warps would do";
}

TEST(FlowCosts, ThreadsThatSkipALoopDoNotEnterIt) {
  Flow flow;
  flow.add(1, 2, 2, none, 320, 10);
  flow.add(2, 1, 2, none, 640, 80, 30);  // its own header
  flow.add(none, none, none, none, 320, 10);
  const FlowCosts all = flow_costs_of(flow.sites, flow.counts);
  ASSERT_EQ(all.loops.size(), 0u) << "320 threads leave at once or after the loop: none is known to enter";
  flow.sites.blocks[0].branches_to = 3;  // a path that only threads that skip the loop take
  flow.add(none, none, none, none, 160, 10);
  flow.counts.threads[2] = 160;
  const FlowCosts costs = flow_costs_of(flow.sites, flow.counts);
  ASSERT_EQ(costs.loops.size(), 1u);
  EXPECT_EQ(costs.loops[0].thread_entries, 160);
  EXPECT_EQ(costs.loops[0].thread_iterations, 640);
}

}  // namespace
}  // namespace lynxpp::report
