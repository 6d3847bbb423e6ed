// Kernels that most warps exit on the same path, with and without loops, compared with the device's own
// counters.
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"
#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

/// Bodies, and the number of warps that deviate from the majority. %r4 is the number of the thread in the
/// grid, which has 5 blocks of 96 threads.
struct Kernel {
  const char* name;
  const char* body;
};
constexpr Kernel kernels[] = {
    {"bounds after bounds",
     "setp.ge.u32 %p1, %r4, 450;\n@%p1 bra E;\nadd.u32 %r8, %r8, 3;\nsetp.lt.u32 %p2, %r4, 3;\n@%p2 bra "
     "E;\nadd.u32 %r8, %r8, 5;\nsetp.ge.u32 %p3, %r4, 470;\n@%p3 bra E;\nadd.u32 %r8, %r8, 5;\nE: "
     "st.global.u32 [%rd1], %r8;\nret;"},
    {"around two bodies",
     "setp.ge.u32 %p1, %r4, 460;\n@%p1 bra M;\nadd.u32 %r8, %r8, 3;\nM: setp.lt.u32 %p2, %r4, 3;\n@%p2 bra "
     "E;\nadd.u32 %r8, %r8, 5;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"one thread does more",
     "setp.ge.u32 %p1, %r4, 500;\n@%p1 bra M;\nadd.u32 %r8, %r8, 3;\nM: setp.ne.u32 %p2, %r4, 200;\n@%p2 bra "
     "E;\nadd.u32 %r8, %r8, 5;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"the others do more",
     "and.b32 %r9, %r4, 1;\nsetp.ge.u32 %p1, %r4, 450;\n@%p1 bra M;\nadd.u32 %r8, %r8, 3;\nM: setp.lt.u32 "
     "%p2, %r9, 1;\n@%p2 bra E;\nadd.u32 %r8, %r8, 5;\nE: st.global.u32 [%rd1], %r8;\nret;"},
};

void expect_exact_in_all_forms(const Kernel& kernel) {
  CountedLaunch launch(module_of({}, kernel.body), 5, 96);
  launch.native();
  EXPECT_TRUE(launch.is_exact());
  launch.expect_exact();
  EXPECT_TRUE(launch.has_exact_sums());
  EXPECT_TRUE(launch.is_exact(true));
  EXPECT_TRUE(launch.is_exact(false, 75));
}

TEST(Exits, CountBlocksOfFullWarps) {
  for (const Kernel& kernel : kernels) {
    SCOPED_TRACE(kernel.name);
    expect_exact_in_all_forms(kernel);
  }
}

/// Branches with one side that most threads take.
constexpr Kernel exits_by_bounds[] = {
    {"after bounds",
     "setp.gt.u32 %p1, %r4, 440;\n@%p1 bra E;\nshr.u32 %r9, %r4, 5;\nsetp.eq.s32 %p2, %r9, 4;\n@%p2 bra "
     "A;\nst.global.u32 "
     "[%rd1], %r8;\nbra.uni E;\nA: st.global.u32 [%rd1], %r9;\nE: ret;"},
};

const char* const instructions = R"(
global unsigned long sums[2];
ON_BASIC_BLOCK_EXIT: {
  atomicAdd(&sums[0], basicBlockExecutedInstructionCount());
  if (leastActiveThreadInWarp()) atomicAdd(&sums[1], basicBlockInstructionCount());
}
)";

TEST(Exits, CountOneOfFewPaths) {
  for (const Kernel& kernel : exits_by_bounds) {
    SCOPED_TRACE(kernel.name);
    CountedLaunch launch(module_of({}, kernel.body), 5, 96);
    launch.assume({});  // in launches with whole rows, they do not diverge
    launch.native();
    EXPECT_EQ(launch.count(instructions, false, false, 90), launch.count(instructions, true, false, 90));
    launch.expect_exact();
    EXPECT_TRUE(launch.is_exact(true));
    EXPECT_TRUE(launch.is_exact(false, 75));
  }
}

TEST(Exits, CountABranchOnScatteredValues) {
  CountedLaunch launch(
      module_of({},
                "setp.lt.u32 %p1, %r5, %r6;\n@%p1 bra A;\nadd.u32 %r8, %r8, 3;\nbra.uni E;\nA: add.u32 "
                "%r8, %r8, 5;\nE: st.global.u32 [%rd1], %r8;\nret;"),
      5, 96);
  launch.native();
  EXPECT_EQ(launch.count(instructions, false, false, 90), launch.count(instructions, true, false, 90));
  launch.expect_exact();
}

/// All threads but one exit early: no code may be inserted before their branch.
TEST(Exits, InsertNothingBetweenAComparisonAndItsBranch) {
  const std::string branch = "setp.ne.u32 %p1, %r4, 200;\n";
  CountedLaunch launch(module_of({}, "add.u32 %r8, %r4, 3;\nst.global.u32 [%rd1], %r8;\n" + branch +
                                         "@%p1 bra E;\nadd.u32 %r8, %r8, 5;\nst.global.u32 [%rd1], "
                                         "%r8;\nE: ret;"),
                       5, 96);
  launch.native();
  EXPECT_EQ(launch.count(instructions, false, false, 90), launch.count(instructions, true, false, 90));
  launch.count(instructions, false, false, 90);
  const std::size_t at = launch.variant().find(branch);
  ASSERT_NE(at, std::string::npos);
  const std::size_t end = launch.variant().find("bra E;", at);
  EXPECT_EQ(launch.variant().substr(at, end - at).find("lynxpp"), std::string::npos) << launch.variant();
  launch.expect_exact();
}

/// Blocks whose last warp is not full.
TEST(Exits, CountPartialWarps) {
  for (const Kernel& kernel : kernels) {
    SCOPED_TRACE(kernel.name);
    for (const std::uint32_t threads : {1u, 20u, 33u, 127u}) {
      CountedLaunch launch(module_of({}, kernel.body), 7, threads);
      launch.native();
      EXPECT_TRUE(launch.is_exact());
    }
  }
}

/// Bodies in loops, and the number of warps that deviate from the majority, of 5 blocks of 96 threads.
constexpr Kernel loops[] = {
    {"bounds of a body",
     "L: add.u32 %r9, %r4, %r7;\nsetp.ge.u32 %p2, %r9, 460;\n@%p2 bra N;\nadd.u32 %r8, %r8, 3;\nN: "
     "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 5;\n@%p3 bra L;\nsetp.ge.u32 %p1, %r4, 450;\n@%p1 bra "
     "E;\nadd.u32 %r8, %r8, 3;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"two bodies",
     "L: add.u32 %r9, %r4, %r7;\nsetp.lt.u32 %p2, %r9, 460;\n@!%p2 bra N;\nadd.u32 %r8, %r8, 3;\nN: "
     "setp.gt.u32 %p4, %r9, 2;\n@!%p4 bra M;\nadd.u32 %r8, %r8, 5;\nM: add.u32 %r7, %r7, 1;\nsetp.lt.u32 "
     "%p3, %r7, 5;\n@%p3 bra L;\nsetp.ge.u32 %p1, %r4, 450;\n@%p1 bra E;\nadd.u32 %r8, %r8, 3;\nE: "
     "st.global.u32 [%rd1], %r8;\nret;"},
    {"no warp goes around",
     "L: add.u32 %r9, %r4, %r7;\nsetp.ge.u32 %p2, %r9, 4600;\n@%p2 bra N;\nadd.u32 %r8, %r8, 3;\nN: "
     "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 5;\n@%p3 bra L;\nsetp.ge.u32 %p1, %r4, 4500;\n@%p1 bra "
     "E;\nadd.u32 %r8, %r8, 3;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"where lanes exit a loop",
     "and.b32 %r9, %r1, 7;\nL: add.u32 %r10, %r4, %r7;\nsetp.ge.u32 %p2, %r10, 460;\n@%p2 bra N;\nadd.u32 "
     "%r8, %r8, 3;\nN: add.u32 %r7, %r7, 2;\nsetp.le.u32 %p3, %r7, %r9;\n@%p3 bra L;\nsetp.ge.u32 %p1, "
     "%r4, 450;\n@%p1 bra E;\nadd.u32 %r8, %r8, 3;\nE: st.global.u32 [%rd1], %r8;\nret;"},
};

TEST(Exits, CountAfterLoops) {
  for (const Kernel& kernel : loops) {
    SCOPED_TRACE(kernel.name);
    expect_exact_in_all_forms(kernel);
    for (const std::uint32_t threads : {1u, 20u, 33u, 127u}) {
      CountedLaunch other(module_of({}, kernel.body), 7, threads);
      other.native();
      EXPECT_TRUE(other.is_exact());
      EXPECT_TRUE(other.has_exact_sums());
    }
  }
}

TEST(Exits, CountWithLoopsThatDifferBetweenBlocks) {
  CountedLaunch launch(
      module_of({},
                "setp.ge.u32 %p1, %r4, 450;\n@%p1 bra E;\nadd.u32 %r8, %r8, 3;\nE: L: add.u32 %r7, %r7, "
                "1;\nsetp.lt.u32 %p2, %r7, %r4;\n@%p2 bra L;\nst.global.u32 [%rd1], %r7;\nret;"),
      5, 96);
  launch.native();
  launch.expect_exact();
}

/// True if the lanes of a warp wait for each other at the exit of a kernel that also has this handler. All
/// lanes read, some write; some others write under a guard.
bool waits_at_exit_beside(const std::string& handler) {
  std::string ptx =
      module_of({},
                "ld.global.u32 %r9, [%rd1];\nsetp.ge.u32 %p1, %r4, 450;\n@%p1 bra M;\nadd.u32 %r8, %r8, "
                "3;\nst.global.u32 [%rd1], %r8;\nM: setp.lt.u32 %p2, %r4, 3;\n@%p2 red.global.add.u32 "
                "[%rd1], 1;\nsetp.lt.u32 %p3, %r5, %r6;\n@%p3 bra N;\nadd.u32 %r8, %r8, 5;\nN: add.u32 "
                "%r7, %r7, 1;\nsetp.lt.u32 %p4, %r7, 3;\n@%p4 bra M;\nret;");
  ptx.replace(ptx.find("sm_75"), 5, "sm_80");
  CountedLaunch launch(ptx, 5, 96);
  launch.native();
  const auto plain = launch.count(everything + handler, true, false, 90);
  EXPECT_EQ(launch.count(everything + handler, false, false, 90), plain);
  return launch.plan().functions.front().converges_at_exit;
}

// In this situation, a GPU left some lanes of a shuffle waiting forever while the rest waited at the exit.
TEST(Exits, WarpsDoNotWaitForLanesInPartialSynchronization) {
  const std::string most = "global unsigned int most[1];\n";
  EXPECT_TRUE(waits_at_exit_beside(""));
  EXPECT_TRUE(
      waits_at_exit_beside(most + "ON_INSTRUCTION: OPCODE(\"st.*\"): atomicMax(&most[0], laneId());"));
  const std::string all_lanes = "{ unsigned int m = warpMax(laneId()); atomicMax(&most[0], m); }";
  EXPECT_TRUE(waits_at_exit_beside(most + "ON_INSTRUCTION: OPCODE(\"ld.*\"): " + all_lanes));
  EXPECT_TRUE(waits_at_exit_beside(most + "ON_KERNEL_ENTRY: " + all_lanes));
  EXPECT_TRUE(waits_at_exit_beside(most + "ON_KERNEL_EXIT: " + all_lanes));
  EXPECT_FALSE(waits_at_exit_beside(most + "ON_INSTRUCTION: OPCODE(\"st.*\"): " + all_lanes));
  EXPECT_FALSE(waits_at_exit_beside(most + "ON_INSTRUCTION_AFTER: OPCODE(\"st.*\"): " + all_lanes));
  EXPECT_FALSE(waits_at_exit_beside(most + "ON_INSTRUCTION: OPCODE(\"red.*\"): " + all_lanes));
  EXPECT_FALSE(waits_at_exit_beside(most + "ON_BASIC_BLOCK_ENTRY: " + all_lanes));
}

/// Lanes exit in different iterations of a loop.
TEST(Exits, WarpsDoNotWaitAtAGuardedExit) {
  const std::string before =
      "setp.ge.u32 %p1, %r4, 450;\n@%p1 bra M;\nadd.u32 %r8, %r8, 3;\nM: setp.lt.u32 %p3, %r5, %r6;\n@%p3 "
      "bra "
      "N;\nadd.u32 %r8, %r8, 5;\nN: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p4, %r7, 3;\n@%p4 bra M;\n";
  const auto waits = [](const std::string& body) {
    CountedLaunch launch(module_of({}, body), 5, 96);
    launch.native();
    EXPECT_TRUE(launch.is_exact()) << body;
    launch.count(everything, false, false, 90);
    return launch.plan().functions.front().converges_at_exit;
  };
  EXPECT_TRUE(waits(before + "st.global.u32 [%rd1], %r8;\nexit;"));
  EXPECT_FALSE(waits(before + "L: st.global.u32 [%rd1], %r8;\nadd.u32 %r8, %r8, 1;\nand.b32 %r9, %r4, "
                              "7;\nsetp.gt.u32 %p2, %r8, %r9;\n@%p2 exit;\nbra L;"));
}

}  // namespace
}  // namespace lynxpp::cod
