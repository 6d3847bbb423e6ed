#include "ptx/analysis/flow/loops.h"

#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Loops, NestedLoopsHaveTheirBlocks) {
  Analysed analysed(
      "OUTER: mov.u32 %r2, 0;\nINNER: add.u32 %r2, %r2, 1;\n@%p1 bra INNER;\n@%p2 bra DONE;\nbra "
      "OUTER;\nDONE: ret;");
  const LoopNest& nest = analysed->loops();
  ASSERT_EQ(nest.loops().size(), 2U);
  const Loop& outer = nest.loops()[0];
  const Loop& inner = nest.loops()[1];
  EXPECT_EQ(outer.header, analysed.block("OUTER"));
  EXPECT_THAT(nest.blocks_of(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(outer.latches, ElementsAre(3));
  EXPECT_THAT(outer.exiting, ElementsAre(2));
  EXPECT_EQ(inner.parent, 0U);
  EXPECT_EQ(inner.depth, 2U);
  EXPECT_THAT(nest.blocks_of(1), ElementsAre(1));
  EXPECT_EQ(outer.block_count, 4U);
  EXPECT_EQ(nest.depth_of(analysed.block("DONE")), 0U);
  EXPECT_THAT(nest.irreducible_regions(), IsEmpty());
}

TEST(Loops, SharedHeaderMakesOneLoop) {
  Analysed analysed("L: @%p1 bra L;\n@%p2 bra L;\nret;");
  ASSERT_EQ(analysed->loops().loops().size(), 1U);
  EXPECT_THAT(analysed->loops().loops()[0].latches, ElementsAre(0, 1));
}

TEST(Loops, TwoEntriesAreIrreducible) {
  Analysed analysed("@%p1 bra B;\nA: mov.u32 %r1, 1;\nbra B;\nB: @%p2 bra A;\nret;");
  EXPECT_THAT(analysed->loops().loops(), IsEmpty());
  EXPECT_THAT(analysed->loops().irreducible_regions(),
              ElementsAre(ElementsAre(analysed.block("A"), analysed.block("B"))));
}

/// A bottom-tested loop over %r1 with this start, step and comparison.
std::optional<std::uint64_t> trips(const std::string& start, const std::string& step, const std::string& test,
                                   const std::string& guard = "@%p1") {
  Analysed analysed("mov.u32 %r1, " + start + ";\nL: add.s32 %r1, %r1, " + step + ";\nsetp." + test + ";\n" +
                    guard + " bra L;\nret;");
  EXPECT_EQ(analysed->loops().loops().size(), 1U);
  return analysed->affine().trip_count(0);
}

TEST(TripCounts, AreKnownForEveryComparison) {
  EXPECT_EQ(trips("0", "1", "lt.s32 %p1, %r1, 10"), 10U);
  EXPECT_EQ(trips("0", "1", "le.s32 %p1, %r1, 10"), 11U);
  EXPECT_EQ(trips("0", "3", "lt.u32 %p1, %r1, 10"), 4U);
  EXPECT_EQ(trips("10", "-1", "gt.s32 %p1, %r1, 0"), 10U);
  EXPECT_EQ(trips("10", "-1", "ge.s32 %p1, %r1, 0"), 11U);
  EXPECT_EQ(trips("0", "4", "ne.s32 %p1, %r1, 64"), 16U);
  EXPECT_EQ(trips("0", "1", "eq.s32 %p1, %r1, 1"), 2U);
  EXPECT_EQ(trips("0", "1", "lo.u32 %p1, %r1, 10"), 10U);
  EXPECT_EQ(trips("0", "1", "gt.s32 %p1, 10, %r1"), 10U) << "sides swapped";
  EXPECT_EQ(trips("0", "1", "ge.s32 %p1, %r1, 10", "@!%p1"), 10U) << "guard negated";
  EXPECT_EQ(trips("50", "1", "lt.s32 %p1, %r1, 10"), 1U);
}

TEST(TripCounts, AreUnknownIfNotConstant) {
  EXPECT_EQ(trips("%tid.x", "1", "lt.s32 %p1, %r1, 10"), std::nullopt) << "start";
  EXPECT_EQ(trips("0", "%r9", "lt.s32 %p1, %r1, 10"), std::nullopt) << "step";
  EXPECT_EQ(trips("0", "1", "lt.s32 %p1, %r1, %r8"), std::nullopt) << "bound";
  EXPECT_EQ(trips("0", "-1", "lt.s32 %p1, %r1, 10"), std::nullopt) << "runs until it wraps around";
  EXPECT_EQ(trips("0", "3", "ne.s32 %p1, %r1, 10"), std::nullopt) << "steps over the bound";
  EXPECT_EQ(trips("20", "1", "ne.s32 %p1, %r1, 10"), std::nullopt) << "moves away from the bound";
  EXPECT_EQ(trips("2147483000", "1000", "lt.s32 %p1, %r1, 2147483647"), std::nullopt) << "overflows";
  EXPECT_EQ(trips("2147483000", "1000", "lt.u32 %p1, %r1, 2147483647"), 1U)
      << "does not wrap around as unsigned";
}

TEST(TripCounts, RequireASingleExit) {
  Analysed two_exits(
      "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\n@%p2 bra OUT;\nsetp.lt.s32 %p1, %r1, 10;\n@%p1 bra L;\nOUT: "
      "ret;");
  EXPECT_EQ(two_exits->affine().trip_count(0), std::nullopt);
  Analysed sometimes(
      "mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\n@%p2 bra L;\nsetp.lt.s32 %p1, %r1, 10;\n@%p1 bra L;\nret;");
  EXPECT_EQ(sometimes->affine().trip_count(0), std::nullopt) << "not tested in every iteration";
}

TEST(TripCounts, AreKnownForTopTestedLoops) {
  Analysed analysed(
      "mov.u32 %r1, 0;\nL: setp.ge.u32 %p1, %r1, 32;\n@%p1 bra OUT;\nadd.u32 %r1, %r1, 8;\nbra L;\nOUT: "
      "ret;");
  EXPECT_EQ(analysed->affine().trip_count(0), 5U) << "the header runs one more time than the body";
}

TEST(InductionVariables, HaveStartAndStep) {
  Analysed analysed(
      "mov.u32 %r1, %tid.x;\nmov.u32 %r5, %ntid.x;\nmov.u64 %rd1, 100;\nL: add.u32 %r1, %r1, %r5;\nsub.u64 "
      "%rd1, %rd1, 8;\n"
      "mul.lo.u32 %r6, %r6, 3;\nsetp.lt.u32 %p1, %r1, 1000;\n@%p1 bra L;\nret;");
  const AffineAnalysis& affine = analysed->affine();
  std::vector<std::string> found;
  for (const InductionVariable& variable : affine.induction_variables())
    found.push_back(std::string(analysed->registers().registers()[variable.reg].name) + " = " +
                    affine.text(variable.initial) + ", += " + affine.text(variable.step));
  EXPECT_THAT(found, testing::UnorderedElementsAre("%r1 = tid.x, += ntid.x", "%rd1 = 100, += -8"));
}

}  // namespace
}  // namespace lynxpp::ptx
