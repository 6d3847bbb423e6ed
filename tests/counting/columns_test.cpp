// Counters with equal factors in all sums are merged (ptx/passes/counting/refine/columns.h).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

/// A loop over four copies of a body under a condition that varies by lane. `body` receives the copy's
/// number.
template <typename Body>
std::string unrolled(const Body& body) {
  std::string text = "L: add.u32 %r7, %r7, 1;\n";
  for (int copy = 0; copy < 4; ++copy) {
    const std::string skip = "S" + std::to_string(copy);
    text +=
        "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r9, %r5, 28;\nsetp.lt.u32 %p1, %r9, 6;\n@%p1 "
        "bra " +
        skip + ";\n" + body(copy) + skip + ":\n";
  }
  return text + "setp.lt.u32 %p2, %r7, 10;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;";
}

std::size_t accumulators_with_places(const ptx::CountPlan& plan, std::size_t places) {
  std::size_t found = 0;
  for (const ptx::FunctionCounters& function : plan.functions)
    found += static_cast<std::size_t>(std::ranges::count(
        function.accumulators, places, [](const ptx::Accumulator& each) { return each.increments.size(); }));
  return found;
}

class CountedSums : public testing::Test {
 protected:
  /// Counts sums exactly, and returns the plan for sm_90.
  ptx::CountPlan plan_of(const std::string& functions, const std::string& body, const char* specification) {
    ptx::CountPlan plan;
    for (const std::uint32_t threads : {7u, 100u}) {
      CountedLaunch launch(module_of(functions, body), 3, threads);
      launch.native();
      EXPECT_TRUE(launch.has_exact_sums()) << launch.variant();
      EXPECT_TRUE(launch.has_exact_sums(true)) << launch.variant();
      EXPECT_TRUE(launch.has_exact_sums(false, 75)) << launch.variant();
      EXPECT_TRUE(launch.is_exact()) << launch.variant();
      EXPECT_EQ(launch.count(specification, false, false, 90), launch.count(specification, true, false, 90));
      launch.count(specification, false, false, 90);
      plan = launch.plan();
    }
    return plan;
  }
};

constexpr const char* instructions_of_threads = R"(
global unsigned long executed[1];
ON_BASIC_BLOCK_EXIT: atomicAdd(&executed[0], basicBlockExecutedInstructionCount());
)";

// A thread that skips the body has executed its branch; a body must be longer to have a count of its own.
TEST_F(CountedSums, CopiesOfABodyShareACounter) {
  const auto body = [](int) { return "add.u32 %r8, %r8, 3;\nadd.u32 %r8, %r8, 5;\n"; };
  const ptx::CountPlan plan = plan_of("", unrolled(body), instructions_of_threads);
  EXPECT_EQ(accumulators_with_places(plan, 4), 1u);
  EXPECT_EQ(plan.functions[0].registers, 1u);  // none for the loop, which has ten iterations
}

TEST_F(CountedSums, DifferentBodiesDoNotShareACounter) {
  const auto body = [](int copy) {
    std::string text;
    for (int i = 0; i <= copy + 1; ++i) text += "add.u32 %r8, %r8, 3;\n";
    return text;
  };
  const ptx::CountPlan plan = plan_of("", unrolled(body), instructions_of_threads);
  EXPECT_EQ(accumulators_with_places(plan, 4), 0u);
  EXPECT_EQ(plan.functions[0].registers, 4u);
}

TEST_F(CountedSums, PerSiteCountsKeepSeparateCounters) {
  const auto body = [](int) { return "add.u32 %r8, %r8, 3;\n"; };
  const ptx::CountPlan plan = plan_of("", unrolled(body), everything);
  for (const ptx::Accumulator& each : plan.functions[0].accumulators) EXPECT_EQ(each.increments.size(), 1u);
}

TEST_F(CountedSums, DropsCountersThatContributeToNoSum) {
  constexpr const char* multiplications = R"(
global unsigned long executed[1];
ON_INSTRUCTION: OPCODE("mad*"): atomicAdd(&executed[0], 1);
)";
  // Both sides of each condition have the same number of multiplications.
  const auto body = [](int) { return "add.u32 %r8, %r8, 3;\n"; };
  const ptx::CountPlan plan = plan_of("", unrolled(body), multiplications);
  EXPECT_EQ(plan.functions[0].registers, 0u);
}

TEST_F(CountedSums, CallersOfEqualSizedFunctionsShareACounter) {
  const std::string functions =
      ".func f()\n{\n.reg .b32 %a<9>;\nmov.u32 %a1, %tid.x;\nadd.u32 %a2, %a1, 1;\nret;\n}\n"
      ".func g()\n{\n.reg .b32 %a<9>;\nmov.u32 %a1, %tid.x;\nadd.u32 %a2, %a1, 2;\nret;\n}\n"
      ".func h()\n{\n.reg .b32 %a<9>;\nmov.u32 %a1, %tid.x;\nadd.u32 %a2, %a1, 2;\nadd.u32 %a3, %a1, "
      "2;\nret;\n}\n";
  const auto calls = [](const std::string& names) {
    return [=](int copy) { return "call " + names.substr(copy, 1) + ", ();\nadd.u32 %r8, %r8, 1;\n"; };
  };
  EXPECT_EQ(accumulators_with_places(plan_of(functions, unrolled(calls("fgfg")), instructions_of_threads), 4),
            1u);
  const ptx::CountPlan plan = plan_of(functions, unrolled(calls("fhhg")), instructions_of_threads);
  EXPECT_EQ(accumulators_with_places(plan, 4), 0u);
  EXPECT_EQ(accumulators_with_places(plan, 2), 2u);
}

TEST_F(CountedSums, GuardsShareACounter) {
  std::string body = "L: add.u32 %r7, %r7, 1;\n";
  for (int copy = 0; copy < 4; ++copy)
    body +=
        "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r9, %r5, 28;\nsetp.lt.u32 %p1, %r9, 6;\n@%p1 "
        "add.u32 "
        "%r8, %r8, 3;\n";
  body += "setp.lt.u32 %p2, %r7, 10;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;";
  const ptx::CountPlan plan = plan_of("", body, instructions_of_threads);
  EXPECT_EQ(accumulators_with_places(plan, 4), 1u);
  EXPECT_EQ(plan.functions[0].registers, 1u);
}

}  // namespace
}  // namespace lynxpp::cod
