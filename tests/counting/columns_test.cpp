// Counters with equal factors in all sums are merged (ptx/passes/counting/refine/columns.h).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

std::size_t counters_with_sites(const ptx::CountPlan& plan, std::size_t sites) {
  std::size_t found = 0;
  for (const ptx::FunctionCounters& function : plan.functions)
    found += static_cast<std::size_t>(std::ranges::count(
        function.counters, sites, [](const ptx::Counter& each) { return each.increments.size(); }));
  return found;
}

/// Counts the specification exactly, and returns the plan. The sums are exact, too (kernels_test.cpp).
ptx::CountPlan plan_of(const std::string& kernel, const char* specification) {
  CountedLaunch launch(golden_kernel("columns/" + kernel).input, 3, 100);
  launch.native();
  EXPECT_EQ(launch.count(specification), launch.count(specification, Form::plain));
  return launch.plan();
}

constexpr const char* instructions_of_threads = R"(
global unsigned long executed[1];
ON_BASIC_BLOCK_EXIT: atomicAdd(&executed[0], basicBlockExecutedInstructionCount());
)";

TEST(CountedSums, CopiesOfABodyShareACounter) {
  const ptx::CountPlan plan = plan_of("copies", instructions_of_threads);
  EXPECT_EQ(counters_with_sites(plan, 4), 1u);
  EXPECT_EQ(plan.functions[0].registers, 2u) << "the copies' and the loop's";
}

TEST(CountedSums, DifferentBodiesDoNotShareACounter) {
  const ptx::CountPlan plan = plan_of("different_bodies", instructions_of_threads);
  EXPECT_EQ(counters_with_sites(plan, 4), 0u);
  EXPECT_EQ(plan.functions[0].registers, 5u);
}

TEST(CountedSums, PerSiteCountsKeepSeparateCounters) {
  const ptx::CountPlan plan = plan_of("short_copies", everything);
  for (const ptx::Counter& each : plan.functions[0].counters) EXPECT_EQ(each.increments.size(), 1u);
}

// Both sides of each condition have the same number of multiplications.
TEST(CountedSums, DropsCountersThatContributeToNoSum) {
  constexpr const char* multiplications = R"(
global unsigned long executed[1];
ON_INSTRUCTION: OPCODE("mad*"): atomicAdd(&executed[0], 1);
)";
  EXPECT_EQ(plan_of("short_copies", multiplications).functions[0].registers, 1u) << "the loop's";
}

TEST(CountedSums, CallersOfEqualSizedFunctionsShareACounter) {
  EXPECT_EQ(counters_with_sites(plan_of("calls_of_equal_functions", instructions_of_threads), 4), 1u);
  const ptx::CountPlan plan = plan_of("calls_of_different_functions", instructions_of_threads);
  EXPECT_EQ(counters_with_sites(plan, 4), 0u);
  EXPECT_EQ(counters_with_sites(plan, 2), 2u);
}

TEST(CountedSums, GuardsShareACounter) {
  const ptx::CountPlan plan = plan_of("guards", instructions_of_threads);
  EXPECT_EQ(counters_with_sites(plan, 4), 1u);
  EXPECT_EQ(plan.functions[0].registers, 2u) << "the guards' and the loop's";
}

}  // namespace
}  // namespace lynxpp::cod
