// Statements that look like counters of the engine (cod/sema/counters.h), but must run as they are written.
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

constexpr Shape one_warp = {{1, 1, 1}, {32, 1, 1}};

std::string kernel(const std::string& body) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" +
         body + "}\n";
}

TEST(Counters, PastTheEndOfTheArrayAreDropped) {
  const Measured measured = measure(
      "global unsigned long n[2], after[8];\nON_BASIC_BLOCK_ENTRY: { n[5]++; }\n"
      "ON_REPORT: { emit(\"n\", sum(n)); emit(\"after\", sum(after)); }",
      one_warp);
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 32u);
  EXPECT_EQ(measured["n"], 0);
  EXPECT_EQ(measured["after"], 0);
}

/// The lane that the warp elects executes the guarded instruction only in the lower half of the block.
TEST(Counters, ElectedThreadsAddTheirOwnExecutedInstructions) {
  const std::string body = R"(  .reg .u32 %r<3>;
  .reg .pred %p;
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p, %r1, 32;
  @%p add.u32 %r2, %r1, 1;
  ret;
)";
  const Measured measured = measure_module(
      "global unsigned long n;\nON_BASIC_BLOCK_EXIT: {\n"
      "  if (leastActiveThreadInWarp()) atomicAdd(&n, basicBlockExecutedInstructionCount()); }",
      {{1, 1, 1}, {64, 1, 1}}, kernel(body));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["n"], 4 + 3);
}

TEST(Counters, EightAndSixteenBitsWrapAround) {
  const std::string body = R"(  .reg .u32 %r1;
  .reg .pred %p;
  mov.u32 %r1, 0;
$again:
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p, %r1, 70000;
  @%p bra $again;
  ret;
)";
  const Measured measured = measure_module(
      "global unsigned char c; global unsigned short s; global unsigned int i;\n"
      "ON_INSTRUCTION: OPCODE(\"add.u32\"): { c++; s++; i++; }",
      {{1, 1, 1}, {1, 1, 1}}, kernel(body));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["c"], 70000 % 256);
  EXPECT_EQ(measured["s"], 70000 % 65536);
  EXPECT_EQ(measured["i"], 70000);
}

/// All lanes access one bank: 31 conflicts, 30 without the first lane.
TEST(Counters, ConflictsAmongSomeLanesLeaveOutTheOthers) {
  const std::string body = R"(  .shared .align 4 .b8 tile[4096];
  .reg .u32 %r<4>;
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 7;
  mov.u32 %r3, tile;
  add.u32 %r3, %r3, %r2;
  st.shared.u32 [%r3], %r1;
  ret;
)";
  const Measured measured = measure_module(
      "global unsigned int all, rest;\n"
      "ON_INSTRUCTION: MEM_WRITE: SHARED: { atomicAdd(&all, bankConflicts()); }\n"
      "ON_INSTRUCTION: MEM_WRITE: SHARED: {\n"
      "  if (leastActiveThreadInWarp() == 0) atomicAdd(&rest, bankConflicts()); }",
      one_warp, kernel(body));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["all"], 32 * 31);
  EXPECT_EQ(measured["rest"], 31 * 30);
}

}  // namespace
}  // namespace lynxpp::cod
