// Selection of accesses counted by runs (ptx/passes/memory/word_runs.h).
#include "ptx/passes/memory/word_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "engine/word_runs.h"
#include "ptx/passes/probes/words/word_run_sites.h"
#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

std::vector<WordRun> runs_of(Analysed& code) {
  return find_word_runs(
      *code, [&](std::uint32_t i) { return code.body().instructions[i].traits.is_memory_access(); });
}

/// A loop whose trip count and addresses come from memory.
std::string loop(const std::string& body) {
  return R"(
  ld.param.u64 %rd1, [A];
  ld.param.u64 %rd9, [B];
  ld.global.u32 %r1, [%rd1];
  ld.global.u64 %rd8, [%rd1+8];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
again:)" +
         body +
         R"(
  add.s32 %r1, %r1, -1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra again;
  ret;)";
}

TEST(WordRunsOfACode, AreOneForContiguousAccesses) {
  Analysed code(loop(R"(
  ld.global.f32 %f1, [%rd3+-4];
  ld.global.f32 %f2, [%rd3];
  add.s64 %rd3, %rd3, 8;)"));
  const std::vector<WordRun> runs = runs_of(code);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].instructions,
            (std::vector<std::uint32_t>{code.at("%f1, [%rd3+-4]"), code.at("%f2, [%rd3]")}));
  EXPECT_EQ(runs[0].distance, 4);
  EXPECT_EQ(runs[0].bytes, 4u);
}

TEST(WordRunsOfACode, AreSeveralForOverlappingAccesses) {
  Analysed code(loop(R"(
  ld.global.v2.f32 {%f1, %f3}, [%rd3];
  ld.global.v2.f32 {%f2, %f4}, [%rd3+8];
  add.s64 %rd3, %rd3, 8;)"));
  const std::vector<WordRun> runs = runs_of(code);
  ASSERT_EQ(runs.size(), 2u);
  for (const WordRun& run : runs) {
    EXPECT_EQ(run.instructions.size(), 1u);
    EXPECT_EQ(run.distance, 8);
    EXPECT_EQ(run.bytes, 8u);
  }
}

TEST(WordRunsOfACode, FindALoopInvariantDistance) {
  Analysed code(loop(R"(
  ld.global.f32 %f1, [%rd3];
  add.s64 %rd4, %rd3, %rd8;
  ld.global.f32 %f2, [%rd4];
  add.s64 %rd3, %rd4, %rd8;)"));
  const std::vector<WordRun> runs = runs_of(code);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].instructions.size(), 2u);
  EXPECT_EQ(runs[0].distance, std::nullopt);
}

TEST(WordRunsOfACode, MayStayAtOneAddress) {
  Analysed code(loop("  st.global.f32 [%rd3], %f1;"));
  const std::vector<WordRun> runs = runs_of(code);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].distance, 0);
}

TEST(WordRunsOfACode, DoNotExistWithoutAConstantStep) {
  for (const char* const body : {
           "  ld.global.u64 %rd3, [%rd3];",                                        // a linked list
           "  ld.global.f32 %f1, [%rd3]; mul.lo.s64 %rd3, %rd3, 3;",               // not a constant step
           "  @%p2 ld.global.f32 %f1, [%rd3]; add.s64 %rd3, %rd3, 4;",             // not in every iteration
           "  ld.global.u8 %r5, [%rd3]; add.s64 %rd3, %rd3, 1;",                   // less than a word
           "  ld.global.f32 %f1, [%rd3]; add.s64 %rd3, %rd3, 2;",                  // not a multiple of a word
           "  ld.shared.f32 %f1, [%rd3]; add.s64 %rd3, %rd3, 4;",                  // other memory
           "  ld.f32 %f1, [%rd3]; add.s64 %rd3, %rd3, 4;",                         // unknown memory
           "  @%p2 bra on; ld.global.f32 %f1, [%rd3]; on: add.s64 %rd3, %rd3, 4;"  // on one path only
       }) {
    Analysed code(loop(body));
    EXPECT_TRUE(runs_of(code).empty()) << body;
  }
}

/// Room for `most` runs; `written` runs were recorded or had no room, each of `accesses` words.
std::vector<std::byte> written_runs(std::uint64_t written, std::uint64_t most, std::uint64_t accesses) {
  std::vector<std::byte> runs(engine::bytes_of_runs(most));
  std::memcpy(runs.data(), &written, sizeof written);
  const RunRecord record{0x1000, 4, accesses, 4};
  for (std::uint64_t i = 0; i < std::min(written, most); ++i)
    std::memcpy(runs.data() + RunRecord::header_bytes + i * sizeof record, &record, sizeof record);
  return runs;
}

bool pay(std::uint64_t written, std::uint64_t most, std::uint64_t accesses, std::uint32_t one_by_one) {
  const std::vector<std::uint32_t> counts{one_by_one, 0};
  return engine::word_runs_pay(written_runs(written, most, accesses), most, std::as_bytes(std::span(counts)),
                               4);
}

TEST(WordRuns, PayFromAThirdOfAllCountsOn) {
  EXPECT_TRUE(pay(10, 100, 50, 1000));
  EXPECT_FALSE(pay(10, 100, 50, 1001));
}

/// 90 of 100 runs had no room: their 4,500 accesses are among the counts.
TEST(WordRuns, PayIncludesTheEstimateForRunsWithoutRoom) {
  EXPECT_TRUE(pay(100, 10, 50, 4500 + 10'000));
  EXPECT_FALSE(pay(100, 10, 50, 4500 + 10'001));
}

}  // namespace
}  // namespace lynxpp::ptx
