// Handlers where threads enter, repeat and leave loops and functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;

constexpr Shape eight_threads{{1, 1, 1}, {8, 1, 1}};

/// Kernel `k`; %r1 is the index of the thread in its block.
std::string kernel(const std::string& body, const std::string& file_scope = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + file_scope +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .pred %p<6>;\n  .reg .b32 %r<16>;\n  .reg .b64 %rd<8>;\n"
         "  mov.u32 %r1, %tid.x;\n" +
         body + "}\n";
}

const std::string counts = R"(
  global unsigned long entered[BASIC_BLOCKS];
  global unsigned long begun[BASIC_BLOCKS];
  global unsigned long left[BASIC_BLOCKS];
  global unsigned long trips[BASIC_BLOCKS];
  global unsigned long first_trips[BASIC_BLOCKS];
  global unsigned long depth[BASIC_BLOCKS];
  ON_LOOP_ENTRY: { entered[loopId()] += 1; first_trips[loopId()] += loopTrips(); }
  ON_LOOP_ITERATION: { begun[loopId()] += 1; depth[loopId()] = loopDepth(); }
  ON_LOOP_EXIT: { left[loopId()] += 1; trips[loopId()] += loopTrips(); }
)";

/// Executions of the blocks by all 8 threads, from the device's own counters.
std::vector<double> executions(const Measured& measured) {
  std::vector<double> blocks;
  for (const auto& block : measured.counters.blocks)
    blocks.push_back(static_cast<double>(block.thread_executions));
  return blocks;
}

TEST(Loops, NestedLoopsAreCountedSeparately) {
  const Measured measured = measure_module(counts, eight_threads, kernel(R"(
  mov.u32 %r2, 0;
outer:
  mov.u32 %r3, 0;
inner:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra inner;
  add.u32 %r2, %r2, 1;
  setp.eq.u32 %p2, %r2, 3;
  @%p2 bra done;
  setp.lt.u32 %p3, %r2, 5;
  @%p3 bra outer;
done:
  ret;
)"));
  ASSERT_EQ(measured.failure, "");
  // The inner loop runs max(1, thread) times, 29 for 8 threads, in each of three trips of the outer one.
  EXPECT_THAT(measured.results.at("entered"), ElementsAre(0, 8, 24, 0, 0, 0));
  EXPECT_THAT(measured.results.at("begun"), ElementsAre(0, 24, 87, 0, 0, 0));
  EXPECT_THAT(measured.results.at("left"), ElementsAre(0, 8, 24, 0, 0, 0));
  EXPECT_THAT(measured.results.at("trips"), ElementsAre(0, 24, 87, 0, 0, 0));
  EXPECT_THAT(measured.results.at("depth"), ElementsAre(0, 1, 2, 0, 0, 0));
  EXPECT_THAT(measured.results.at("first_trips"), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(Loops, SourceLinesSelectThem) {
  const Measured measured = measure_module(
      "global unsigned long entered[BASIC_BLOCKS]; global unsigned long begun[BASIC_BLOCKS];\n"
      "global unsigned long left[BASIC_BLOCKS];\n"
      "ON_LOOP_ENTRY: SOURCE(\"k.cu\", 2): { entered[loopId()] += 1; }\n"
      "ON_LOOP_ITERATION: SOURCE(\"k.cu\", 3, 4): { begun[loopId()] += 1; }\n"
      "ON_LOOP_EXIT: SOURCE(\"other.cu\", 2): SOURCE(\"k.cu\", 3): { left[loopId()] += 1; }\n",
      eight_threads,
      kernel(R"(
  mov.u32 %r2, 0;
  .loc 1 1 0
outer:
  mov.u32 %r3, 0;
inner:
  .loc 1 3 0
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra inner;
  .loc 1 2 0
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p3, %r2, 3;
  @%p3 bra outer;
  ret;
)",
             ".file 1 \"src/k.cu\"\n"));
  ASSERT_EQ(measured.failure, "");
  // Line 2 repeats the outer loop, and lines 3 and 4 are the inner one.
  EXPECT_THAT(measured.results.at("entered"), ElementsAre(0, 8, 0, 0, 0));
  EXPECT_THAT(measured.results.at("begun"), ElementsAre(0, 0, 87, 0, 0));
  EXPECT_THAT(measured.results.at("left"), ElementsAre(0, 0, 24, 0, 0));
}

TEST(Loops, AreLeftByJumpsFallThroughAndReturn) {
  const Measured measured = measure_module(counts, eight_threads, kernel(R"(
  mov.u32 %r2, 0;
outer:
  mov.u32 %r3, 0;
inner:
  setp.eq.u32 %p1, %r1, 7;
  @%p1 ret;
  setp.eq.u32 %p2, %r1, 6;
  @%p2 bra done;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r3, 4;
  @%p3 bra inner;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p4, %r2, 2;
  @%p4 bra outer;
done:
  ret;
)"));
  ASSERT_EQ(measured.failure, "");
  // Thread 7 returns in its first trip, thread 6 jumps out of both loops; six threads run 2 times 4 trips.
  EXPECT_THAT(measured.results.at("entered"), ElementsAre(0, 8, 14, 0, 0, 0, 0));
  EXPECT_THAT(measured.results.at("begun"), ElementsAre(0, 14, 50, 0, 0, 0, 0));
  EXPECT_THAT(measured.results.at("left"), ElementsAre(0, 8, 14, 0, 0, 0, 0));
  EXPECT_THAT(measured.results.at("trips"), ElementsAre(0, 14, 50, 0, 0, 0, 0));
}

TEST(Loops, AreLeftThroughBranchTables) {
  const Measured measured = measure_module(counts, eight_threads, kernel(R"(
  mov.u32 %r2, 0;
again:
  setp.eq.u32 %p1, %r2, %r1;
  and.b32 %r3, %r2, 1;
  shl.b32 %r3, %r3, 1;
  selp.b32 %r3, 1, %r3, %p1;
  add.u32 %r2, %r2, 1;
ways: .branchtargets again, done, again;
  brx.idx %r3, ways;
done:
  ret;
)"));
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.results.at("entered"), ElementsAre(0, 8, 0));
  EXPECT_THAT(measured.results.at("begun"), ElementsAre(0, 36, 0));
  EXPECT_THAT(measured.results.at("left"), ElementsAre(0, 8, 0));
  EXPECT_THAT(measured.results.at("trips"), ElementsAre(0, 36, 0));
}

/// `f` begins with a loop that counts a number in memory down to 0.
const std::string counting_down = R"(
.func f(.param .b64 slot)
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
again:
  ld.param.u64 %rd1, [slot];
  ld.global.u32 %r1, [%rd1];
  sub.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra again;
  ret;
}
)";
const std::string calling = R"(
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  setp.gt.u32 %p1, %r1, 5;
  @%p1 ret;
  st.global.u32 [%rd1], 5;
  { .param .b64 p; st.param.b64 [p], %rd1; call f, (p); }
  ret;
)";

TEST(Loops, MayBeginAFunction) {
  const Measured measured = measure_module(counts, eight_threads, kernel(calling, counting_down));
  ASSERT_EQ(measured.failure, "");
  // Six threads call f, whose loop counts 5 down.
  EXPECT_THAT(measured.results.at("entered"), ElementsAre(0, 0, 0, 6, 0));
  EXPECT_THAT(measured.results.at("begun"), ElementsAre(0, 0, 0, 30, 0));
  EXPECT_THAT(measured.results.at("left"), ElementsAre(0, 0, 0, 6, 0));
  EXPECT_THAT(measured.results.at("trips"), ElementsAre(0, 0, 0, 30, 0));
}

TEST(Functions, AreEnteredAndLeft) {
  const Measured measured = measure_module(R"(
    global unsigned long entered[BASIC_BLOCKS];
    global unsigned long left[BASIC_BLOCKS];
    global unsigned long calls;
    ON_FUNCTION_ENTRY: { entered[functionId()] += 1; }
    ON_FUNCTION_EXIT: { left[functionId()] += 1; }
    ON_REPORT: {
      emit("entered", entered);
      emit("left", left);
      for (int i = 0; i < INSTRUCTIONS; ++i) {
        if (instructionIs(i, CALL)) print("%s from %s", callTarget(i), functionName(i));
      }
    }
  )",
                                           eight_threads, kernel(calling, counting_down));
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.results.at("entered"), ElementsAre(8, 0, 0, 6, 0));
  EXPECT_THAT(measured.results.at("left"), ElementsAre(8, 0, 0, 6, 0));
  EXPECT_THAT(measured.notes, ElementsAre("f from k"));
}

TEST(Loops, KnowTheirSitesAndBackEdges) {
  const Measured measured = measure_module(R"(
    global unsigned int back[INSTRUCTIONS];
    global unsigned int loop[INSTRUCTIONS];
    global unsigned int depth[INSTRUCTIONS];
    global unsigned long trip[INSTRUCTIONS];
    ON_INSTRUCTION: {
      back[instructionId()] = isBackEdge();
      loop[instructionId()] = loopId();
      depth[instructionId()] = loopDepth();
      trip[instructionId()] = loopTrips();
    }
  )",
                                           {{1, 1, 1}, {1, 1, 1}}, kernel(R"(
  mov.u32 %r2, 0;
again:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 4;
  @%p1 bra again;
  bra done;
done:
  ret;
)"));
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.results.at("back"), ElementsAre(0, 0, 0, 0, 1, 0, 0));
  EXPECT_THAT(measured.results.at("loop"), ElementsAre(4, 4, 1, 1, 1, 4, 4));
  EXPECT_THAT(measured.results.at("depth"), ElementsAre(0, 0, 1, 1, 1, 0, 0));
  EXPECT_THAT(measured.results.at("trip"), ElementsAre(0, 0, 4, 4, 4, 0, 0));
}

TEST(Loops, MatchTheDevicesCounters) {
  const Measured measured = measure(counts, {{2, 1, 1}, {40, 1, 1}}, "divergent");
  ASSERT_EQ(measured.failure, "");
  const std::vector<double> of_blocks = executions(measured);
  ASSERT_EQ(of_blocks.size(), measured.results.at("begun").size());
  double loops = 0;
  for (std::size_t block = 0; block < of_blocks.size(); ++block) {
    if (measured.results.at("begun")[block] == 0) continue;
    ++loops;
    EXPECT_EQ(measured.results.at("begun")[block], of_blocks[block]);
    EXPECT_EQ(measured.results.at("trips")[block], of_blocks[block]);
    EXPECT_EQ(measured.results.at("entered")[block], measured.results.at("left")[block]);
  }
  EXPECT_EQ(loops, 1);
}

}  // namespace
}  // namespace lynxpp::cod
