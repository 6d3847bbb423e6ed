// Kernels whose branches depend on the thread, the block or memory, in grids of several shapes, compared with
// the device's own counters.
#include <gtest/gtest.h>

#include <array>

#include "tests/cod/test_support.h"
#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

using Grid = std::array<std::uint32_t, 3>;
constexpr Grid grids[] = {{1, 1, 1}, {5, 1, 1}, {3, 2, 1}, {1, 4, 2}, {2, 3, 2}};

/// %r1 is %tid.x, %r2 %ctaid.x, %rd1 the thread's address in memory (blocks in one row of the grid have
/// separate addresses).
struct Kernel {
  const char* name;
  const char* body;
};
constexpr Kernel kernels[] = {
    {"threads diverge",
     "setp.gt.u32 %p1, %r1, 20;\n@%p1 bra E;\nadd.u32 %r8, %r8, 3;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"a loop around a branch",
     "L: and.b32 %r9, %r1, %r7;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra N;\nadd.u32 %r8, %r8, %r7;\nN: add.u32 "
     "%r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, 5;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"lanes exit a loop",
     "and.b32 %r9, %r1, 7;\nL: add.u32 %r8, %r8, %r7;\nadd.u32 %r7, %r7, 2;\nsetp.le.u32 %p2, %r7, "
     "%r9;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"blocks diverge",
     "and.b32 %r9, %r2, 1;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra E;\nadd.u32 %r8, %r8, 3;\nL: add.u32 %r7, "
     "%r7, 1;\nsetp.lt.u32 %p2, %r7, 4;\n@%p2 bra L;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"some blocks have exited",
     "setp.gt.u32 %p1, %r4, 90;\n@%p1 ret;\nsetp.gt.u32 %p2, %r1, 13;\n@%p2 bra E;\nadd.u32 %r8, %r8, "
     "3;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"blocks diverge among threads that diverged",
     "L: setp.gt.u32 %p1, %r1, %r7;\n@%p1 bra N;\nadd.u32 %r9, %r2, %r7;\nand.b32 %r9, %r9, 1;\nsetp.eq.u32 "
     "%p2, %r9, 0;\n@%p2 bra N;\nadd.u32 %r8, %r8, 3;\nN: add.u32 %r7, %r7, 7;\nsetp.lt.u32 %p3, %r7, "
     "40;\n@%p3 bra L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"a path chosen by a value of the block",
     "mov.u32 %r9, 2;\nsetp.eq.u32 %p1, %r2, 1;\n@!%p1 bra L;\nmov.u32 %r9, 6;\nL: add.u32 %r7, %r7, "
     "1;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nst.global.u32 [%rd1], %r7;\nret;"},
    {"memory decides",
     "ld.global.u32 %r9, [%rd1];\nL: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra "
     "L;\nst.global.u32 [%rd1], %r7;\nret;"},
    {"guards",
     "L: setp.gt.u32 %p1, %r1, %r7;\n@%p1 add.u32 %r8, %r8, 1;\nsetp.gt.u32 %p2, %r4, %r7;\n@%p2 add.u32 "
     "%r8, %r8, 2;\nadd.u32 %r7, %r7, 9;\nsetp.lt.u32 %p3, %r7, 60;\n@%p3 bra L;\nst.global.u32 [%rd1], "
     "%r8;\nret;"},
};

TEST(CountedGrids, MatchTheDevicesCounters) {
  for (const Kernel& kernel : kernels) {
    SCOPED_TRACE(kernel.name);
    for (const Grid& grid : grids) {
      for (const std::uint32_t threads : {32u, 70u}) {
        CountedLaunch launch(module_of({}, kernel.body), grid, threads);
        launch.native();
        EXPECT_TRUE(launch.is_exact());
        EXPECT_TRUE(launch.is_exact(true));
        EXPECT_TRUE(launch.is_exact(false, 75));
        EXPECT_TRUE(launch.has_exact_sums());
        if (HasFailure()) return;
      }
    }
    CountedLaunch launch(module_of({}, kernel.body), 3, 70);
    launch.native();
    launch.expect_exact();
  }
}

TEST(CountedGrids, HaveManyCounters) {
  std::string body = "L: ";
  for (int i = 0; i < 7; ++i) {
    const std::string number = std::to_string(i);
    body += "xor.b32 %r9, %r1, %r7;\nshr.u32 %r9, %r9, " + std::to_string(i % 4) +
            ";\nand.b32 %r9, %r9, 5;\nsetp.eq.u32 %p1, %r9, " + std::to_string(i % 2) + ";\n@%p1 bra N" +
            number + ";\nadd.u32 %r8, %r8, %r7;\nN" + number + ": mad.lo.u32 %r8, %r8, 3, %r1;\n";
  }
  body += "add.u32 %r7, %r7, 3;\nsetp.lt.u32 %p2, %r7, 30;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;";
  for (const Grid& grid : grids) {
    CountedLaunch launch(module_of({}, body), grid, 70);
    launch.native();
    EXPECT_TRUE(launch.is_exact());
    EXPECT_TRUE(launch.has_exact_sums());
    EXPECT_TRUE(launch.is_exact(true));
    EXPECT_TRUE(launch.is_exact(false, 75));
    if (HasFailure()) return;
  }
  CountedLaunch launch(module_of({}, body), 3, 70);
  launch.native();
  launch.expect_exact();
}

/// While some lanes wait, the others proceed to where all of them converge, and their number depends on the
/// block.
constexpr const char* waiting[] = {
    "setp.ge.u32 %p1, %r4, 80;\n@%p1 bra E;\nbarrier.sync 0;\nE: st.global.u32 [%rd1], %r8;\nret;",
    "setp.ge.u32 %p1, %r4, 80;\n@%p1 bra M;\nbarrier.sync 0;\nM: setp.lt.u32 %p2, %r1, 9;\n@%p2 bra "
    "E;\nadd.u32 %r8, %r8, 5;\nE: st.global.u32 [%rd1], %r8;\nret;",
    "setp.ge.u32 %p1, %r4, 80;\n@%p1 bra M;\nbarrier.sync 0;\nM: and.b32 %r9, %r1, 7;\nL: add.u32 %r7, %r7, "
    "1;\nadd.u32 %r8, %r8, 3;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;"};

TEST(CountedGrids, HavePartialWaits) {
  for (const char* const body : waiting) {
    for (const std::uint32_t blocks : {1u, 2u, 4u}) {
      CountedLaunch launch(module_of({}, body), blocks, 64);
      launch.native();
      EXPECT_TRUE(launch.is_exact()) << body;
      EXPECT_TRUE(launch.has_exact_sums()) << body;
      EXPECT_TRUE(launch.has_exact_instructions()) << body;
      EXPECT_TRUE(launch.is_exact(false, 75)) << body;
      if (HasFailure()) return;
    }
  }
}

/// A function from which some threads never return, depending on the block.
TEST(CountedGrids, HaveACallThatMayExit) {
  const std::string functions =
      ".func f(.param .b32 n)\n{\n.reg .pred %q<2>;\n.reg .b32 %s<2>;\nld.param.u32 %s1, [n];\nsetp.gt.u32 "
      "%q1, %s1, 90;\n@%q1 exit;\nret;\n}\n";
  const std::string body =
      "{ .param .b32 a;\nst.param.b32 [a], %r4;\ncall f, (a); }\nsetp.gt.u32 %p1, %r1, 13;\n@%p1 bra "
      "E;\nadd.u32 %r8, %r8, 3;\nE: st.global.u32 [%rd1], %r8;\nret;";
  for (const std::uint32_t blocks : {1u, 2u, 5u}) {
    CountedLaunch launch(module_of(functions, body), blocks, 70);
    launch.native();
    EXPECT_TRUE(launch.is_exact()) << blocks;
    EXPECT_TRUE(launch.has_exact_sums()) << blocks;
    EXPECT_TRUE(launch.has_exact_instructions()) << blocks;
  }
}

/// Each block calls a function with another argument.
TEST(CountedGrids, CallFunctions) {
  const std::string functions =
      ".func (.param .b32 result) f(.param .b32 n)\n{\n.reg .pred %q<3>;\n.reg .b32 %s<3>;\nld.param.u32 "
      "%s1, [n];\n"
      "mov.u32 %s2, 0;\nM: add.u32 %s2, %s2, 3;\nsetp.lt.u32 %q1, %s2, %s1;\n@%q1 bra M;\nst.param.b32 "
      "[result], %s2;\nret;\n}\n";
  CountedLaunch launch(
      module_of(functions,
                "and.b32 %r9, %r2, 3;\nshl.b32 %r9, %r9, 2;\n{ .param .b32 a;\n.param .b32 b;\nst.param.b32 "
                "[a], %r9;\ncall (b), f, "
                "(a);\nld.param.b32 %r8, [b]; }\nsetp.gt.u32 %p1, %r8, %r1;\n@%p1 bra E;\nadd.u32 %r8, %r8, "
                "1;\nE: st.global.u32 [%rd1], %r8;\nret;"),
      4, 40);
  launch.native();
  launch.expect_exact();
}

}  // namespace
}  // namespace lynxpp::cod
