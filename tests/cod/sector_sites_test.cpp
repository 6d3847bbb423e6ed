// Sectors added up in as few numbers as tell them, against the device's own counters.
#include <gtest/gtest.h>

#include "tests/cod/lane_values_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

/// Bodies and how many numbers their sectors are added up in.
struct Shared {
  const char* name;
  std::size_t tallies;
  const char* body;
};
constexpr Shared sharing[] = {
    {"a sector on", 1,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
     "ld.global.u32 %r11, [%rd4+32];\nst.global.u32 [%rd4+-64], %r10;\nret;"},
    {"half a sector on", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
     "ld.global.u32 %r11, [%rd4+48];\nst.global.u32 [%rd4+16], %r10;\nret;"},
    {"other differences", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd4, %rd3;\n"
     "ld.global.u32 %r10, [%rd4];\nld.global.u32 %r11, [%rd5];\nret;"},
    {"one address", 0,
     "setp.lt.u32 %p2, %r4, 33;\nld.global.u32 %r10, [%rd1+4];\n@%p2 ld.global.u32 %r11, "
     "[%rd1];\nsetp.gt.u32 %p1, "
     "%r1, 5;\n@%p1 bra E;\nst.global.u32 [%rd1+8], %r4;\nE: ret;"},
    {"rows", 1,
     "mul.wide.u32 %rd3, %r1, 96;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
     "ld.global.u32 %r11, [%rd4+4];\nld.global.v2.u32 {%r12, %r13}, [%rd4+88];\nret;"},
    {"rows of indices", 1,
     "shl.b32 %r10, %r1, 5;\nmul.wide.s32 %rd3, %r10, 4;\nadd.s64 %rd4, %rd1, %rd3;\nL: ld.global.u32 %r11, "
     "[%rd4];\nld.global.u32 %r12, [%rd4+4];\nadd.s64 %rd4, %rd4, 8;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, "
     "%r6, "
     "3;\n@%p2 bra L;\nret;"},
    {"moved in a loop", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nL: ld.global.u32 %r11, [%rd4];\nadd.s64 %rd4, "
     "%rd4, "
     "20;\nld.global.u32 %r12, [%rd4];\nst.global.u32 [%rd4+2048], %r12;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 "
     "%p2, %r6, "
     "3;\n@%p2 bra L;\nret;"},
    {"loop that lanes leave", 1,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nand.b32 %r10, %r1, 3;\nL: ld.global.u32 %r11, "
     "[%rd4+4];\nst.global.u32 [%rd4+4100], %r11;\nadd.u32 %r6, %r6, 1;\nsetp.le.u32 %p2, %r6, %r10;\n@%p2 "
     "bra "
     "L;\nret;"},
    {"other blocks", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\nsetp.gt.u32 %p1, "
     "%r1, "
     "40;\n@%p1 bra E;\nst.global.u32 [%rd4+1024], %r10;\nE: ret;"},
    {"guarded", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nsetp.gt.u32 %p1, %r1, 4;\nld.global.u32 %r10, "
     "[%rd4];\n@%p1 st.global.u32 [%rd4], %r10;\nret;"},
    {"guarded uniformly", 3,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nsetp.gt.u32 %p1, %r4, 500;\nld.global.u32 %r10, "
     "[%rd4];\n@%p1 st.global.u32 [%rd4], %r10;\n@!%p1 st.global.u32 [%rd4], %r10;\nret;"},
    {"again in every row", 1,
     "mul.wide.u32 %rd3, %r1, 12;\nadd.s64 %rd4, %rd1, %rd3;\nL: ld.global.u32 %r11, [%rd4];\nadd.u32 %r6, "
     "%r6, "
     "1;\nsetp.lt.u32 %p2, %r6, 3;\n@%p2 bra L;\nret;"},
};

/// Indices plus a number that is 0, but who knows. Not to wrap around is one more number.
constexpr Shared sharing_by_indices[] = {
    {"an index a sector on", 2,
     "ld.global.nc.u32 %r30, [%rd1];\nadd.s32 %r31, %r1, %r30;\nmul.wide.s32 %rd3, %r31, 4;\nadd.s64 %rd4, "
     "%rd1, %rd3;\nadd.s32 %r32, %r31, 8;\nmul.wide.s32 %rd5, %r32, 4;\nadd.s64 %rd6, %rd1, "
     "%rd5;\nld.global.u32 %r10, [%rd4];\nld.global.u32 %r11, [%rd6];\nret;"},
    {"unsigned and descending", 2,
     "ld.global.nc.u32 %r30, [%rd1];\nsub.s32 %r31, 4000, %r1;\nmad.lo.s32 %r31, %r2, 31, %r31;\nadd.s32 "
     "%r32, %r31, %r30;\nmul.wide.u32 %rd3, %r32, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, "
     "[%rd4];\nadd.s32 %r33, %r32, 16;\ncvt.u64.u32 %rd5, %r33;\nmad.lo.s64 %rd6, %rd5, 4, "
     "%rd1;\nld.global.u32 %r11, [%rd6];\nret;"},
    {"an inner loop of one that lanes leave", 2,
     "ld.global.nc.u32 %r30, [%rd1];\nadd.s32 %r31, %r1, %r30;\nand.b32 %r13, %r1, 7;\nL: mov.u32 %r8, "
     "0;\nmov.u32 %r12, %r31;\nM: mul.wide.s32 %rd3, %r12, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 "
     "%r10, [%rd4];\nld.global.u32 %r11, [%rd4+64];\nadd.s32 %r12, %r12, 6;\nadd.u32 %r8, %r8, "
     "1;\nsetp.lt.u32 %p1, %r8, 3;\n@%p1 bra M;\nadd.s32 %r31, %r31, 1;\nadd.u32 %r6, %r6, "
     "1;\nsetp.le.u32 %p2, %r6, %r13;\n@%p2 bra L;\nret;"},
};

TEST(SectorSites, FollowIndicesThatDoNotWrapAround) {
  for (const Shared& kernel : sharing_by_indices) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : shapes) {
      MeasuredLaunch launch(access_module(kernel.body), shape);
      for (const bool lane_values : {true, false}) {
        launch.check(lane_values);
        if (HasFatalFailure()) return;
        EXPECT_EQ(launch.tallies, kernel.tallies);
      }
      launch.wide_counters = true;
      launch.check(true);
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(MeasuredLaunch(access_module(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// From lane 16 on the index is 2^32 lower, and the lane adds that to its address: two halves of the warp
/// meet in two sectors.
TEST(SectorSites, MarkIndicesThatWrapAround) {
  for (const bool is_signed : {true, false}) {
    const std::string least = is_signed ? "2147483632" : "4294967280";
    const std::string lower = is_signed ? "-8589934528" : "-17179869120";
    const std::string upper = is_signed ? "8589934592" : "0";
    MeasuredLaunch launch(
        access_module("ld.global.nc.u32 %r30, [%rd1];\nadd.s32 %r31, %r1, %r30;\nadd.s32 %r31, %r31, " +
                      least + ";\nmul.wide." + (is_signed ? "s32" : "u32") +
                      " %rd3, %r31, 4;\nsetp.lt.u32 %p1, %r1, 16;\nselp.b64 %rd7, " + lower + ", " + upper +
                      ", %p1;\nadd.s64 %rd8, %rd7, %rd1;\nadd.s64 %rd4, %rd8, "
                      "%rd3;\nld.global.u32 %r10, [%rd4];\nret;"),
        {});
    launch.wraps_indices = true;
    launch.check(true);
    launch.wraps_indices = false;
    launch.wide_counters = true;
    launch.check(true);
  }
}

/// Bodies whose full rows, aligned, give nothing away.
constexpr Shared in_rows[] = {
    {"two places of a sector", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\nst.global.u32 "
     "[%rd4+4104], %r10;\nret;"},
    {"descending", 1,
     "mul.wide.u32 %rd3, %r1, 12;\nsub.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4+20];\nret;"},
    {"a sector for each", 1,
     "mul.wide.u32 %rd3, %r1, 64;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4+20];\nret;"},
    {"one address in a row", 1,
     "mul.wide.u32 %rd3, %r2, 68;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\nret;"},
};

TEST(SectorSites, TallyOnlyWarpsThatAreNoRows) {
  constexpr Shape rows[] = {{64, 1, 1}, {32, 3, 1}};
  constexpr Shape others[] = {{100, 1, 1}, {16, 4, 1}, {33, 2, 1}, {20, 1, 1}, {1, 40, 1}};
  for (const Shared& kernel : in_rows) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : rows) {
      MeasuredLaunch launch(access_module(kernel.body), shape);
      launch.check(true);
      EXPECT_TRUE(launch.adds_nothing);
      launch.knows_rows = false;
      const std::string with = launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_EQ(launch.exceptions, kernel.tallies);
      EXPECT_TRUE(launch.adds_nothing) << with;
      launch.check(false);
      EXPECT_FALSE(launch.adds_nothing) << "nobody knows that they are rows";
    }
    for (const Shape& shape : others) {
      MeasuredLaunch launch(access_module(kernel.body), shape);
      launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_FALSE(launch.adds_nothing);
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(MeasuredLaunch(access_module(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// The second block's rows begin in the middle of a sector.
TEST(SectorSites, TallyRowsThatBeginElsewhere) {
  MeasuredLaunch launch(
      access_module("mov.u32 %r9, %ctaid.x;\nmul.wide.u32 %rd5, %r9, 8;\nmul.wide.u32 %rd3, %r1, "
                    "4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd4, %rd4, %rd5;\nld.global.u32 %r10, "
                    "[%rd4];\nret;"),
      {64, 1, 1});
  launch.check(true);
  EXPECT_EQ(launch.exceptions, 1u);
  EXPECT_FALSE(launch.adds_nothing);
}

TEST(SectorSites, AreExpectedOfWarpsThatComeTogetherOnce) {
  const auto exceptions = [](const std::string& condition) {
    MeasuredLaunch launch(
        access_module("setp.gt.u32 %p1, " + condition +
                      ";\n@%p1 bra N;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, "
                      "%rd3;\nld.global.u32 %r10, [%rd4];\nN: add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, "
                      "%r1;\n@%p2 bra E;\nmul.wide.u32 %rd5, %r1, 8;\nadd.s64 %rd6, %rd1, "
                      "%rd5;\nld.global.u64 %rd7, [%rd6];\nE: ret;"),
        {100, 1, 1});
    launch.check(true);
    return launch.exceptions;
  };
  EXPECT_EQ(exceptions("%r1, 63"), 1u) << "the other access stands behind a branch that divided them";
  EXPECT_EQ(exceptions("%r4, 500"), 2u);
}

TEST(SectorSites, ShareWhatIsEqual) {
  constexpr Shape some[] = {{100, 1, 1}, {7, 5, 1}, {16, 4, 1}};
  for (const Shared& kernel : sharing) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : some) {
      MeasuredLaunch launch(access_module(kernel.body), shape);
      for (const bool lane_values : {true, false}) {
        launch.check(lane_values);
        if (HasFatalFailure()) return;
        EXPECT_EQ(launch.tallies, kernel.tallies);
      }
      launch.wide_counters = true;
      launch.check(true);
      EXPECT_EQ(launch.tallies, kernel.tallies);
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(MeasuredLaunch(access_module(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// Handlers that do something else besides keep their code at every place.
TEST(SectorSites, AreOnlyThoseOfHandlersThatCountSectors) {
  const auto measures = [](const std::string& code) {
    return compiled("global unsigned long n; global unsigned long m; ON_INSTRUCTION: GLOBAL: {" + code + "}")
               ->handlers()[0]
               .measures == Handler::Measures::sectors;
  };
  EXPECT_TRUE(measures("int first = firstInSector(); if (first) atomicAdd(&n, 1);"));
  EXPECT_TRUE(measures("if (firstInSector()) { atomicAdd(&n, 1); atomicIncrement(&m); }"));
  EXPECT_FALSE(measures("int first = firstInSector(); if (first) atomicAdd(&n, 2);"));
  EXPECT_FALSE(measures("int first = firstInSector(); if (first) atomicAdd(&n, 1); else atomicAdd(&m, 1);"));
  EXPECT_FALSE(measures("int first = firstInSector(); if (!first) atomicAdd(&n, 1);"));
  EXPECT_FALSE(measures("int first = firstInSector(); first = 1; if (first) atomicAdd(&n, 1);"));
  EXPECT_FALSE(
      measures("int first = firstInSector(); if (first) for (int i = 0; i < 2; ++i) atomicAdd(&n, 1);"));
  EXPECT_FALSE(measures("int first = firstInSector(); atomicAdd(&n, 1u + first);"));
  EXPECT_FALSE(
      measures("if (accessSize() > 4) { int first = firstInSector(); if (first) atomicAdd(&n, 1); }"));
}

}  // namespace
}  // namespace lynxpp::cod
