// Warps that skip a block which nearly all enter are counted by a vote, if converged warps reach the branch.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

const std::string within_bounds =
    "setp.ge.u32 %p2, %r4, 150;\n@%p2 bra E;\nadd.u32 %r8, %r8, 3;\nE: st.global.u32 [%rd1], %r8;\nret;";

bool votes(const std::string& before) {
  CountedLaunch launch(module_of({}, before + within_bounds), 4, 64);
  launch.native();
  EXPECT_TRUE(launch.is_exact()) << before;
  EXPECT_TRUE(launch.has_exact_instructions()) << before;
  launch.count(everything, false, false, 90);
  return std::ranges::any_of(launch.plan().functions[0].accumulators, [](const ptx::Accumulator& each) {
    return each.increments[0].condition.kind == ptx::Condition::Kind::none_takes;
  });
}

TEST(Complements, UseAVoteOfConvergedWarps) {
  EXPECT_TRUE(votes(""));
  EXPECT_TRUE(votes("setp.lt.u32 %p1, %r3, 5;\n@%p1 bra A;\nadd.u32 %r8, %r8, 1;\nA: "))
      << "all threads take the same edge";
  EXPECT_FALSE(
      votes("and.b32 %r9, %r1, 1;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra A;\nadd.u32 %r8, %r8, 1;\nA: "))
      << "hardware need not let the lanes reconverge";
  EXPECT_FALSE(votes("setp.gt.u32 %p1, %r1, 40;\n@%p1 ret;\n")) << "some lanes have exited";
}

}  // namespace
}  // namespace lynxpp::cod
