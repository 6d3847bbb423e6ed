// The ready-made race_hints on kernels with and without races.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr Shape two_blocks{{2, 1, 1}, {128, 1, 1}};

/// %r1: index of the thread in its block; %r2: address of its word of `tile`; %r3: address of its mirror
/// image; %r4: index of its warp.
Measured measure_tile(const std::string& body, const Shape& shape = two_blocks) {
  std::string source;
  EXPECT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/race_hints.cod", source));
  return measure_module(source, shape,
                        ".version 8.0\n.target sm_80\n.address_size 64\n"
                        R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>;
  .shared .align 4 .b8 tile[512];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  mad.lo.u32 %r3, %r1, -4, %r2;
  add.u32 %r3, %r3, 508;
  mad.lo.u32 %r2, %r1, 4, %r2;
  shr.u32 %r4, %r1, 5;
)" + body + "  ret;\n}\n",
                        false);
}

/// Hints by kind: write after write, read after write, write after read.
std::vector<double> kinds_of(const Measured& measured) {
  EXPECT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 0u);
  EXPECT_EQ(measured["total_hints"],
            measured["write_after_write"] + measured["read_after_write"] + measured["write_after_read"]);
  return {measured["write_after_write"], measured["read_after_write"], measured["write_after_read"]};
}
double total_of(const Measured& measured) {
  const std::vector<double> kinds = kinds_of(measured);
  return kinds[0] + kinds[1] + kinds[2];
}

TEST(RaceHints, AreAbsentIfABarrierOrders) {
  for (const std::string barrier : {"bar.sync 0;", "barrier.sync 0;", "bar.sync 0, 128;",
                                    "setp.eq.u32 %p1, %r1, 0;\n bar.red.popc.u32 %r9, 0, %p1;"}) {
    const Measured measured =
        measure_tile("  st.shared.u32 [%r2], %r1;\n  " + barrier + "\n  ld.shared.u32 %r5, [%r3];\n  " +
                     barrier + "\n  st.shared.u32 [%r2], %r5;\n");
    EXPECT_THAT(kinds_of(measured), Each(0.0)) << barrier;
    EXPECT_EQ(measured["other_barriers"], 0.0) << barrier;
  }
}

/// The second of two accesses reports the hint, so each word has one.
TEST(RaceHints, ReportEachWordWithoutABarrier) {
  const Measured read = measure_tile("  st.shared.u32 [%r2], %r1;\n  ld.shared.u32 %r5, [%r3];\n");
  const std::vector<double> kinds = kinds_of(read);
  EXPECT_EQ(kinds[0], 0.0);
  EXPECT_EQ(kinds[1] + kinds[2], 256.0);
  const Measured written = measure_tile(
      "  ld.shared.u32 %r5, [%r3];\n  bar.sync 0;\n  ld.shared.u32 %r6, [%r3];\n"
      "  st.shared.u32 [%r2], %r1;\n");
  EXPECT_EQ(kinds_of(written)[0], 0.0);
  EXPECT_EQ(total_of(written), 256.0);
  ASSERT_TRUE(written.results.contains("first.barriers"));
  EXPECT_THAT(written.results.at("first.barriers"), Each(1.0));
}

TEST(RaceHints, ReportOneWordThatAllWarpsWrite) {
  const Measured measured = measure_tile("  mov.u32 %r5, tile;\n  st.shared.u32 [%r5], %r4;\n");
  // In each block, all four warps but the first find an earlier access.
  EXPECT_THAT(kinds_of(measured), ElementsAre(2 * 3 * 32.0, 0.0, 0.0));
  const std::vector<double>& warps = measured.results.at("first.warp");
  const std::vector<double>& others = measured.results.at("first.other");
  ASSERT_EQ(warps.size(), 64u);
  for (std::size_t i = 0; i < warps.size(); ++i) EXPECT_NE(warps[i], others[i]);
  EXPECT_THAT(measured.results.at("first.word"), Each(0.0));
}

TEST(RaceHints, IgnoreAtomicsAmongThemselvesButNotWithOthers) {
  EXPECT_THAT(kinds_of(measure_tile("  mov.u32 %r5, tile;\n  atom.shared.add.u32 %r6, [%r5], 1;\n"
                                    "  red.shared.add.u32 [%r5], 1;\n")),
              Each(0.0));
  EXPECT_GT(total_of(measure_tile("  mov.u32 %r5, tile;\n  atom.shared.add.u32 %r6, [%r5], 1;\n"
                                  "  ld.shared.u32 %r7, [%r5];\n")),
            0.0);
  EXPECT_GT(total_of(measure_tile("  mov.u32 %r5, tile;\n  setp.eq.u32 %p1, %r1, 0;\n"
                                  "  @%p1 st.shared.u32 [%r5], 0;\n  red.shared.add.u32 [%r5], 1;\n")),
            0.0);
}

/// Cases that are documented as missed or as false positives.
TEST(RaceHints, IgnoreLanesOfAWarpAndMentionOtherBarriers) {
  EXPECT_THAT(kinds_of(measure_tile("  mov.u32 %r3, tile;\n"
                                    "  st.shared.u32 [%r2], %r1;\n  ld.shared.u32 %r5, [%r3];\n",
                                    {{1, 1, 1}, {32, 1, 1}})),
              Each(0.0));
  const Measured named =
      measure_tile("  st.shared.u32 [%r2], %r1;\n  bar.sync 1, 128;\n  ld.shared.u32 %r5, [%r3];\n");
  EXPECT_EQ(total_of(named), 256.0);
  EXPECT_EQ(named["other_barriers"], 8.0);
}

TEST(RaceHints, CoverAllWordsOfGenericAndWideAccesses) {
  const Measured measured = measure_tile(
      "  setp.gt.u32 %p1, %r1, 31;\n  cvt.u64.u32 %rd1, %r2;\n  cvta.shared.u64 %rd2, %rd1;\n"
      "  @!%p1 st.u32 [%rd2], %r1;\n  mov.u32 %r5, tile;\n"
      "  @%p1 ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];\n");
  // Words 0 to 3, which the first warp writes and 96 threads of each block read.
  EXPECT_EQ(kinds_of(measured)[0], 0.0);
  EXPECT_GE(total_of(measured), 2 * 4.0);
  EXPECT_THAT(measured.results.at("first.word"), Each(testing::Lt(4.0)));
}

}  // namespace
}  // namespace lynxpp::cod
