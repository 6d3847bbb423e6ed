#include "ptx/analysis/values/uniformity.h"

#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

constexpr Variance by_thread = varies_in_warp | varies_in_block;

/// The variance of the value defined by the last instruction that writes `reg`.
Variance of(const std::string& body, const std::string& reg) {
  Analysed analysed(body);
  const RegisterId id = analysed.reg(reg);
  Variance result = varies;
  for (std::uint32_t at = 0; at < analysed.body().instructions.size(); ++at) {
    const auto writes = analysed->registers().writes(at);
    for (std::size_t index = 0; index < writes.size(); ++index) {
      if (writes[index].reg == id)
        result = analysed->uniformity().of_value(analysed->ssa().writes(at)[index]);
    }
  }
  return result;
}
/// The variance of `reg` as read by the instruction that contains `text`.
Variance read(const std::string& body, const std::string& text, const std::string& reg) {
  Analysed analysed(body);
  return analysed->uniformity().of_register_read(analysed.at(text), analysed.reg(reg));
}

TEST(Uniformity, ClassifiesSources) {
  EXPECT_EQ(of("mov.u32 %r1, %tid.x;", "%r1"), by_thread);
  EXPECT_EQ(of("mov.u32 %r1, %ctaid.y;", "%r1"), varies_over_blocks);
  EXPECT_EQ(of("mov.u32 %r1, %ntid.x;", "%r1"), uniform);
  EXPECT_EQ(of("mov.u32 %r1, 7;", "%r1"), uniform);
  EXPECT_EQ(of("mov.u32 %r1, %clock;", "%r1"), varies);
  EXPECT_EQ(of("ld.param.u32 %r1, [n];", "%r1"), uniform);
  EXPECT_EQ(of("add.u32 %r1, %r2, 1;", "%r1"), varies) << "undefined";
  EXPECT_EQ(of("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nadd.u32 %r3, %r1, %r2;", "%r3"), varies);
}

TEST(Uniformity, ClassifiesLoads) {
  const std::string address = "mov.u64 %rd1, 16;\n";
  EXPECT_EQ(of(address + "ld.const.u32 %r1, [%rd1];", "%r1"), uniform);
  EXPECT_EQ(of(address + "ld.global.nc.u32 %r1, [%rd1];", "%r1"), uniform);
  EXPECT_EQ(of(address + "ld.global.u32 %r1, [%rd1];", "%r1"), varies) << "another thread may write";
  EXPECT_EQ(of(address + "ld.u32 %r1, [%rd1];", "%r1"), varies);
  EXPECT_EQ(of(address + "atom.global.add.u32 %r1, [%rd1], 1;", "%r1"), varies);
}

TEST(Uniformity, ClassifiesExchanges) {
  EXPECT_EQ(of("vote.sync.ballot.b32 %r1, %p1, -1;", "%r1"), varies_in_block | varies_over_blocks);
  EXPECT_EQ(of("vote.sync.ballot.b32 %r1, %p1, %r2;", "%r1"), varies) << "some lanes";
  EXPECT_EQ(of("mov.u32 %r2, -1;\nvote.sync.ballot.b32 %r1, %p1, %r2;", "%r1"),
            varies_in_block | varies_over_blocks);
  EXPECT_EQ(of("bar.red.popc.u32 %r1, 0, %p1;", "%r1"), varies_over_blocks);
  EXPECT_EQ(of("mov.u32 %r9, 64;\ngetctarank.shared::cluster.u32 %r1, %r9;", "%r1"), varies_over_blocks);
  EXPECT_EQ(of("mov.u32 %r9, 64;\nmapa.shared::cluster.u32 %r1, %r9, 0;", "%r1"), varies_over_blocks);
}

TEST(Uniformity, BroadcastsAreUniformInAWarp) {
  const std::string lane = "mov.u32 %r9, %tid.x;\n";
  constexpr Variance by_warp = varies_in_block | varies_over_blocks;
  EXPECT_EQ(of(lane + "shfl.sync.idx.b32 %r1, %r9, 0, 31, -1;", "%r1"), by_warp);
  EXPECT_EQ(of(lane + "mov.b32 %r2, 0;\nmov.b32 %r3, 31;\nmov.b32 %r4, -1;\n"
                      "shfl.sync.idx.b32 %r1|%p1, %r9, %r2, %r3, %r4;",
               "%r1"),
            by_warp);
  EXPECT_EQ(of(lane + "shfl.sync.idx.b32 %r1, %r9, 0, 0x1c1f, -1;", "%r1"), varies) << "segments";
  EXPECT_EQ(of(lane + "shfl.sync.idx.b32 %r1, %r9, 0, 31, 0xffff;", "%r1"), varies) << "some lanes";
  EXPECT_EQ(of(lane + "shfl.sync.idx.b32 %r1, %r9, %r9, 31, -1;", "%r1"), varies) << "several sources";
  EXPECT_EQ(of(lane + "shfl.sync.up.b32 %r1, %r9, 0, 0, -1;", "%r1"), varies);
}

const std::string diamond_by =
    "@%p1 bra ELSE;\nmov.u32 %r1, 1;\nbra JOIN;\nELSE: mov.u32 %r1, 2;\nJOIN: mov.u32 %r2, %r1;\nret;";

TEST(Uniformity, JoinsOfDivergentBranchesVary) {
  EXPECT_EQ(of("mov.u32 %r9, %tid.x;\nsetp.lt.u32 %p1, %r9, 5;\n" + diamond_by, "%r2"), by_thread);
  EXPECT_EQ(of("mov.u32 %r9, %ctaid.x;\nsetp.lt.u32 %p1, %r9, 5;\n" + diamond_by, "%r2"), varies_over_blocks);
  EXPECT_EQ(of("ld.param.u32 %r9, [n];\nsetp.lt.u32 %p1, %r9, 5;\n" + diamond_by, "%r2"), uniform);
}

TEST(Uniformity, ValuesStayUniformInsideDivergentRegions) {
  EXPECT_EQ(of("mov.u32 %r9, %tid.x;\nsetp.lt.u32 %p1, %r9, 5;\n" + diamond_by, "%r1"), uniform);
}

TEST(Uniformity, GuardedWritesVaryWithTheirGuard) {
  EXPECT_EQ(
      of("mov.u32 %r9, %tid.x;\nsetp.lt.u32 %p1, %r9, 5;\nmov.u32 %r1, 1;\n@%p1 mov.u32 %r1, 2;", "%r1"),
      by_thread);
  const std::string uniform_guard = "ld.param.u32 %r9, [n];\nsetp.lt.u32 %p1, %r9, 5;\n";
  EXPECT_EQ(of(uniform_guard + "mov.u32 %r1, %tid.x;\n@%p1 mov.u32 %r1, 2;", "%r1"), by_thread)
      << "the old value remains if the guard is false";
  EXPECT_EQ(of(uniform_guard + "mov.u32 %r1, %ctaid.x;\n@!%p1 mov.u32 %r1, 2;", "%r1"), varies_over_blocks);
  EXPECT_EQ(of(uniform_guard + "mov.u32 %r1, 1;\n@%p1 mov.u32 %r1, 2;", "%r1"), uniform);
}

/// A loop with `inside` whose trip count nothing is known of, and a branch around `side` before it.
std::string loop_with(const std::string& inside, const std::string& side) {
  return "ld.global.u32 %r9, [%rd1];\nsetp.lt.u32 %p3, %r9, 5;\n@%p3 bra END;\n" + side +
         "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\n" + inside +
         "setp.lt.u32 %p1, %r1, %r9;\n@%p1 bra L;\nEND: ret;";
}

TEST(Uniformity, LanesAgreeBeforeInstructionsOfWarpgroups) {
  const auto diverges = [](const std::string& body, const std::string& label) {
    Analysed analysed(body);
    return (analysed->uniformity().of_branch(analysed.block(label)) & varies_in_warp) != 0;
  };
  const std::string together = "wgmma.fence.sync.aligned;\n";
  EXPECT_TRUE(diverges(loop_with("", ""), "L"));
  EXPECT_FALSE(diverges(loop_with(together, ""), "L")) << "lanes that remain could not execute it";
  const auto of_first = [](const std::string& body) {
    Analysed analysed(body);
    return analysed->uniformity().of_branch(0) & varies_in_warp;
  };
  EXPECT_NE(of_first(loop_with("", "")), 0);
  EXPECT_EQ(of_first(loop_with(together, "")), 0);
  EXPECT_EQ(of_first(loop_with("", together)), 0);
  EXPECT_NE(of_first(loop_with("@%p1 bra SKIP;\n" + together + "SKIP:\n", "")), 0) << "not on all paths";
  EXPECT_NE(of_first("ld.global.u32 %r9, [%rd1];\nsetp.lt.u32 %p3, %r9, 5;\n@%p3 bra END;\nmov.u32 %r1, 0;\n"
                     "END: wgmma.fence.sync.aligned;\nret;"),
            0)
      << "lanes converge before it";
}

TEST(Uniformity, IrreducibleCyclesShareNoIterations) {
  // Warps enter at A or at B, depending on n, and exit from B after n rounds.
  const std::string cycle =
      "ld.param.u32 %r9, [n];\nsetp.lt.u32 %p1, %r9, 5;\nmov.u32 %r1, 0;\n@%p1 bra B;\n"
      "A: add.u32 %r1, %r1, 1;\nmov.u32 %r3, 7;\nB: setp.lt.u32 %p2, %r1, %r9;\n"
      "mov.u32 %r5, %r9;\n@%p2 bra A;\nmov.u32 %r6, %r5;\nmov.u32 %r7, %r9;\nret;";
  EXPECT_EQ(read(cycle, "%r6, %r5", "%r5"), varies) << "threads may leave in different iterations";
  EXPECT_EQ(read(cycle, "%r7, %r9", "%r9"), uniform) << "made before the cycle";
  const std::string loop =
      "ld.param.u32 %r9, [n];\nmov.u32 %r1, 0;\nA: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, %r9;\n"
      "mov.u32 %r5, %r9;\n@%p2 bra A;\nmov.u32 %r6, %r5;\nret;";
  EXPECT_EQ(read(loop, "%r6, %r5", "%r5"), uniform) << "one entry";
}

/// Counts %r1 from 0 until it reaches %r9.
std::string counting(const std::string& bound) {
  return "mov.u32 %r9, " + bound +
         ";\nmov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nmov.u32 %r5, %r1;\nsetp.lt.u32 %p1, %r1, %r9;\n@%p1 "
         "bra L;\n"
         "mov.u32 %r2, %r1;\nret;";
}

TEST(Uniformity, DivergentLoopExitsMakeValuesVary) {
  EXPECT_EQ(read(counting("%tid.x"), "%r5, %r1", "%r1"), uniform) << "those still in the loop agree";
  EXPECT_EQ(read(counting("%tid.x"), "%r2, %r1", "%r1"), by_thread) << "after the loop they do not";
  EXPECT_EQ(read(counting("%ntid.x"), "%r2, %r1", "%r1"), uniform);
}

TEST(Uniformity, ContinueOnSomePathsMergesIterations) {
  // Some threads branch to the header early, while the others pass through M: where they converge they are in
  // different iterations.
  const std::string body =
      "mov.u32 %r9, %tid.x;\nmov.u32 %r1, 0;\nsetp.lt.u32 %p1, %r9, 5;\nL: add.u32 %r1, %r1, 1;\n@%p1 bra "
      "L;\n"
      "M: mov.u32 %r5, %r1;\nsetp.lt.u32 %p2, %r5, 100;\n@%p2 bra L;\nret;";
  EXPECT_EQ(read(body, "%r5, %r1", "%r1") & varies_in_warp, varies_in_warp);
}

TEST(Uniformity, ClassifiesBranches) {
  Analysed analysed(
      "mov.u32 %r9, %tid.x;\nsetp.lt.u32 %p1, %r9, 5;\n@%p1 bra A;\nmov.u32 %r1, 1;\nA: setp.lt.u32 %p2, 3, "
      "5;\n"
      "@%p2 bra B;\nmov.u32 %r1, 2;\nB: ret;");
  EXPECT_EQ(analysed->uniformity().of_branch(0), by_thread);
  EXPECT_EQ(analysed->uniformity().of_branch(analysed.block("A")), uniform);
  EXPECT_EQ(analysed->uniformity().of_branch(analysed.block("B")), uniform) << "one edge";
}

TEST(Uniformity, ThousandsOfExitsTakeLinearTimeAndStaySound) {
  std::string body = "mov.u32 %r9, %tid.x;\nsetp.lt.u32 %p1, %r9, 5;\nmov.u32 %r1, 0;\n";
  for (int exit = 0; exit < 6000; ++exit) body += "@%p1 bra OUT;\nmov.u32 %r1, 1;\n";
  EXPECT_EQ(of(body + "OUT: mov.u32 %r2, %r1;\nret;", "%r2"), by_thread);
}

TEST(Uniformity, EarlyExitKeepsRemainingValuesUniform) {
  const std::string body =
      "mov.u32 %r9, %tid.x;\nsetp.gt.u32 %p1, %r9, 5;\nmov.u32 %r1, 3;\n@%p1 bra OUT;\nmov.u32 %r1, "
      "4;\nmov.u32 %r2, "
      "%r1;\nOUT: ret;";
  EXPECT_EQ(of(body, "%r2"), uniform);
}

}  // namespace
}  // namespace lynxpp::ptx
