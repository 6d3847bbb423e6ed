// `.sync` operations whose members are at different program points: random programs, kernels that nvcc
// compiled, and lanes that wait forever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "kernel_fixture.h"
#include "lane_programs.h"
#include "support/text.h"
#include "tests/device_simt/ptx/independent_lanes.h"

namespace lynxpp::device::cpu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr LaunchShape one_warp{{1, 1, 1}, {32, 1, 1}, 0};

TEST(IndependentLanes, MeetInRandomPrograms) {
  int meetings = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const LaneProgram program = random_lane_program(seed);
    meetings += program.meetings;
    const auto module = load(program.text);
    ASSERT_NE(module, nullptr);
    LaneValues out{};
    const Arguments arguments(out.data(), program.side.data());
    ASSERT_EQ(text_of(module->launch("test", one_warp, arguments.bytes(), nullptr)), "")
        << "seed " << seed << "\n"
        << program.text;
    ASSERT_EQ(out, program.expected) << "seed " << seed << "\n" << program.text;
  }
  EXPECT_GT(meetings, 600);
}

std::shared_ptr<LoadedModule> compiled_kernels() {
  std::string text;
  EXPECT_TRUE(read_file(LYNXPP_SOURCE_DIR "/tests/device_simt/ptx/independent_lanes.ptx", text));
  Result<std::shared_ptr<LoadedModule>> loaded = load_module(text, "independent_lanes.ptx");
  EXPECT_TRUE(loaded) << render(loaded.error().diagnostics);
  return loaded ? *loaded : nullptr;
}

TEST(IndependentLanes, MeetInCompiledKernels) {
  const auto module = compiled_kernels();
  ASSERT_NE(module, nullptr);
  for (const std::string& kernel : independent_lanes::kernels()) {
    for (unsigned pattern = 0; pattern < 16; ++pattern) {
      const std::vector<unsigned> side = independent_lanes::sides(pattern);
      std::vector<unsigned> out(32, 0xeeeeeeee);
      const Arguments arguments(out.data(), side.data());
      EXPECT_EQ(text_of(module->launch(kernel, one_warp, arguments.bytes(), nullptr)), "") << kernel;
      EXPECT_EQ(out, independent_lanes::expected(kernel, side)) << kernel << ", pattern " << pattern;
    }
  }
}

TEST(WideIntegers, MatchTheHost) {
  const auto module = compiled_kernels();
  ASSERT_NE(module, nullptr);
  std::vector<Wide> a;
  std::vector<Wide> b;
  independent_lanes::wide_operands(a, b);
  std::vector<Wide> out(a.size() * wide_operations);
  const auto count = static_cast<std::uint32_t>(a.size());
  const Arguments arguments(out.data(), a.data(), b.data(), static_cast<int>(count));
  ASSERT_EQ(text_of(module->launch("wide_integers", {{(count + 63) / 64, 1, 1}, {64, 1, 1}, 0},
                                   arguments.bytes(), nullptr)),
            "");
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::array<Wide, wide_operations> expected;
    wide_results(a[i], b[i], expected.data());
    for (int k = 0; k < wide_operations; ++k) {
      EXPECT_TRUE(out[i * wide_operations + static_cast<std::size_t>(k)] ==
                  expected[static_cast<std::size_t>(k)])
          << "operation " << k << " of operands " << i;
    }
  }
}

/// Returns a kernel whose even lanes execute one text and whose odd lanes execute another.
std::string on_both_sides(const std::string& even, const std::string& odd) {
  return ".visible .entry test(.param .u64 out) {\n  .reg .b32 %r<8>;\n  .reg .b64 %a;\n  .reg .pred %p<4>;\n"
         "  mov.u32 %r1, %tid.x;\n  and.b32 %r2, %r1, 1;\n  setp.ne.u32 %p1, %r2, 0;\n  mov.u32 %r3, 0;\n"
         "  @%p1 bra odd;\n" +
         even + "  bra join;\nodd:\n" + odd +
         "join:\n  ld.param.u64 %a, [out];\n  mad.wide.u32 %a, %r1, 4, %a;\n  st.global.u32 [%a], %r3;\n"
         "  ret;\n}\n";
}

struct Outcome {
  std::string failure;
  LaneValues out{};
  LaunchCounters counters;
};

Outcome run_both_sides(const std::string& even, const std::string& odd) {
  Outcome outcome;
  const auto module = load(on_both_sides(even, odd));
  if (module == nullptr) return outcome;
  const Arguments arguments(outcome.out.data());
  outcome.failure = text_of(module->launch("test", one_warp, arguments.bytes(), &outcome.counters));
  return outcome;
}

TEST(IndependentLanes, WaitForeverAtDifferentOperations) {
  const std::string both = run_both_sides("  shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;\n",
                                          "  shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n")
                               .failure;
  EXPECT_THAT(both, StartsWith("test.ptx:"));
  EXPECT_THAT(both, HasSubstr("kernel 'test'"));
  EXPECT_THAT(both, HasSubstr("wait forever at 'shfl.sync."));
  EXPECT_THAT(both, HasSubstr("which wait at 'shfl.sync."));
  EXPECT_THAT(both, HasSubstr("0x55555555"));
  EXPECT_THAT(both, HasSubstr("0xaaaaaaaa"));
  EXPECT_THAT(run_both_sides("  bar.warp.sync -1;\n", "  vote.sync.any.pred %p2, %p1, -1;\n").failure,
              HasSubstr("wait forever"));
  EXPECT_THAT(run_both_sides("  bar.warp.sync -1;\n", "  bar.sync 0;\n").failure,
              HasSubstr("which wait at 'bar.sync'"));
  EXPECT_THAT(
      run_both_sides("  bar.warp.sync -1;\n", "  bar.warp.sync 0xaaaaaaab;\n").failure,
      HasSubstr("for lanes 0x00000001, which wait at 'bar.warp.sync' in line 13 for lanes 0xffffffff"));
}

TEST(IndependentLanes, DoNotWaitForExitedLanes) {
  // Odd lanes run to the end while the others wait for them.
  const Outcome outcome = run_both_sides("  vote.sync.ballot.b32 %r3, !%p1, -1;\n", "  mov.u32 %r3, 7;\n");
  EXPECT_EQ(outcome.failure, "");
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(outcome.out[lane], lane % 2 == 0 ? 0x55555555u : 7u) << lane;
}

TEST(IndependentLanes, MeetAfterTheJoin) {
  // Even and odd lanes reconverge at an operation after the branch.
  const auto module = load(
      ".visible .entry test(.param .u64 out) {\n  .reg .b32 %r<8>;\n  .reg .b64 %a;\n  .reg .pred %p<4>;\n"
      "  mov.u32 %r1, %tid.x;\n  and.b32 %r2, %r1, 1;\n  setp.ne.u32 %p1, %r2, 0;\n  mov.u32 %r3, 0;\n"
      "  @%p1 bra join;\n  redux.sync.add.u32 %r3, %r1, -1;\njoin:\n"
      "  @%p1 redux.sync.add.u32 %r3, %r1, -1;\n"
      "  ld.param.u64 %a, [out];\n  mad.wide.u32 %a, %r1, 4, %a;\n  st.global.u32 [%a], %r3;\n  ret;\n}\n");
  ASSERT_NE(module, nullptr);
  LaneValues out{};
  ASSERT_EQ(text_of(module->launch("test", one_warp, Arguments(out.data()).bytes(), nullptr)), "");
  for (const std::uint32_t value : out) EXPECT_EQ(value, 31u * 16);
}

TEST(IndependentLanes, AreCountedAtTheirOwnInstructions) {
  const Outcome outcome = run_both_sides(
      "  add.u32 %r3, %r1, 1;\n  bar.warp.sync -1;\n  add.u32 %r3, %r3, 1;\n", "  bar.warp.sync -1;\n");
  ASSERT_EQ(outcome.failure, "");
  for (const SiteCounters& site : outcome.counters.sites) {
    // One issue per instruction for the lanes that reach it, and one entry each.
    EXPECT_EQ(site.warp_issues, 1u) << site.line;
    EXPECT_EQ(site.active_lanes, site.block == 1 || site.block == 2 ? 16u : 32u) << site.line;
  }
  const BlockCounters even = counters_of(outcome.counters, "test", 1);
  EXPECT_EQ(even.warp_executions, 1u);
  EXPECT_EQ(even.thread_executions, 16u);
  EXPECT_EQ(even.warp_instructions, 4u);
  EXPECT_EQ(even.thread_instructions, 64u);
  EXPECT_EQ(outcome.counters.barriers.warps, 2u);
  EXPECT_EQ(outcome.counters.barriers.threads, 32u);
}

/// Lane 0 calls f until lane 1 has set a flag. The code between the calls determines the segment at which its
/// turn ends.
std::string spinning_call(int segments) {
  std::string text =
      ".func f(.reg .b32 value) {\n  .reg .b32 %r<2>;\n  .reg .pred %p;\n  setp.eq.u32 %p, value, 77;\n"
      "  @%p bra end;\n  add.u32 %r1, value, 1;\nend:\n  ret;\n}\n"
      ".visible .entry test(.param .u64 out) {\n  .reg .b32 %r<8>;\n  .reg .b64 %a, %b;\n"
      "  .reg .pred %p<4>;\n  .shared .b32 flag;\n  mov.u32 %r1, %tid.x;\n  ld.param.u64 %a, [out];\n"
      "  mad.wide.u32 %b, %r1, 4, %a;\n  mov.u32 %r2, 0;\n  st.shared.u32 [flag], %r2;\n  bar.sync 0;\n"
      "  setp.ne.u32 %p1, %r1, 0;\n  @%p1 bra join;\nspin:\n  call f, (%r2);\n";
  for (int i = 0; i < segments; ++i) text += "L" + std::to_string(i) + ":\n  add.u32 %r3, %r1, 1;\n";
  return text +
         "  ld.volatile.shared.u32 %r2, [flag];\n  setp.eq.u32 %p2, %r2, 0;\n  @%p2 bra spin;\n"
         "join:\n  setp.eq.u32 %p3, %r1, 1;\n  @%p3 st.volatile.shared.u32 [flag], 5;\n"
         "  barrier.sync 0;\n  ld.volatile.shared.u32 %r2, [flag];\n  st.global.u32 [%b], %r2;\n  ret;\n}\n";
}

TEST(IndependentLanes, SpinInCallsThatEndTheirTurn) {
  for (int segments = 0; segments < 8; ++segments) {
    const auto module = load(spinning_call(segments));
    ASSERT_NE(module, nullptr);
    LaneValues out{};
    ASSERT_EQ(text_of(module->launch("test", one_warp, Arguments(out.data()).bytes(), nullptr)), "")
        << segments;
    for (const std::uint32_t value : out) EXPECT_EQ(value, 5u) << segments;
  }
}

/// Lane 0 waits inside a call for later work of the other lanes, which have returned from it.
std::string waiting_call(const std::string& wait, const std::string& release) {
  return ".func (.reg .b32 result) g(.reg .b32 value) {\n  .reg .b32 %t<2>;\n"
         "  .reg .pred %p<2>;\n  mad.lo.u32 result, value, 3, 1;\n  setp.ne.u32 %p0, value, 0;\n"
         "  @%p0 bra end;\n" +
         wait +
         "end:\n  ret;\n}\n"
         ".visible .entry test(.param .u64 out) {\n  .reg .b32 %r<8>;\n  .reg .b64 %a;\n  .reg .pred %p<4>;\n"
         "  mov.u32 %r1, %tid.x;\n  ld.param.u64 %a, [out];\n  mad.wide.u32 %a, %r1, 4, %a;\n"
         "  setp.eq.u32 %p1, %r1, 1;\n  setp.ne.u32 %p2, %r1, 0;\n  mov.u32 %r3, 0;\n"
         "  st.shared.u32 [flag], %r3;\n  bar.sync 0;\n  call (%r2), g, (%r1);\n" +
         release + "  st.global.u32 [%a], %r2;\n  ret;\n}\n";
}

TEST(IndependentLanes, ContinueAfterACallInWhichOthersWait) {
  const std::pair<const char*, const char*> programs[] = {
      {"again:\n  ld.volatile.shared.u32 %t0, [flag];\n  setp.eq.u32 %p1, %t0, 0;\n  @%p1 bra again;\n",
       "  @%p1 st.volatile.shared.u32 [flag], 9;\n"},
      {"  barrier.sync 1;\n", "  @%p2 barrier.sync 1;\n"},
      {"  bar.warp.sync -1;\n", "  @%p2 bar.warp.sync -1;\n"},
  };
  for (const auto& [wait, release] : programs) {
    const auto module = load(".shared .b32 flag;\n" + waiting_call(wait, release));
    ASSERT_NE(module, nullptr);
    LaneValues out{};
    ASSERT_EQ(text_of(module->launch("test", one_warp, Arguments(out.data()).bytes(), nullptr)), "") << wait;
    for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane * 3 + 1) << wait;
  }
}

TEST(IndependentLanes, StayConvergedInLongLoopsOfAtomics) {
  // Runs through the slices that spinning lanes are given; the warp reconverges repeatedly in each.
  const auto module = load(
      ".visible .entry test(.param .u64 out) {\n  .reg .b32 %r<8>;\n  .reg .b64 %a;\n  .reg .pred %p<4>;\n"
      "  mov.u32 %r1, %tid.x;\n  and.b32 %r2, %r1, 1;\n  setp.ne.u32 %p1, %r2, 0;\n  mov.u32 %r3, 0;\n"
      "  ld.param.u64 %a, [out];\n  mad.wide.u32 %a, %r1, 4, %a;\n"
      "loop:\n  @%p1 bra odd;\n  red.global.add.u32 [%a], 1;\n  bra join;\n"
      "odd:\n  red.global.add.u32 [%a], 2;\n"
      "join:\n  add.u32 %r3, %r3, 1;\n  setp.lt.u32 %p2, %r3, 800001;\n  @%p2 bra loop;\n  ret;\n}\n");
  ASSERT_NE(module, nullptr);
  LaneValues out{};
  LaunchCounters counters;
  ASSERT_EQ(text_of(module->launch("test", one_warp, Arguments(out.data()).bytes(), &counters)), "");
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], (lane % 2 + 1) * 800001) << lane;
  for (const int block : {1, 2, 3, 4})
    EXPECT_EQ(counters_of(counters, "test", block).warp_executions, 800001u) << block;
}

TEST(IndependentLanes, VoteAmongTheirOwnMembers) {
  // All lanes are converged, but each half votes separately.
  const auto module = load(
      ".visible .entry test(.param .u64 out) {\n  .reg .b32 %r<8>;\n  .reg .b64 %a;\n  .reg .pred %p<4>;\n"
      "  mov.u32 %r1, %tid.x;\n  setp.lt.u32 %p1, %r1, 16;\n  selp.b32 %r2, 0xffff, 0xffff0000, %p1;\n"
      "  and.b32 %r3, %r1, 1;\n  setp.ne.u32 %p2, %r3, 0;\n  vote.sync.ballot.b32 %r4, %p2, %r2;\n"
      "  elect.sync %r5|%p3, %r2;\n  selp.b32 %r6, 1, 0, %p3;\n  mad.lo.u32 %r4, %r5, 3, %r4;\n"
      "  mad.lo.u32 %r4, %r6, 100, %r4;\n"
      "  ld.param.u64 %a, [out];\n  mad.wide.u32 %a, %r1, 4, %a;\n  st.global.u32 [%a], %r4;\n  ret;\n}\n");
  ASSERT_NE(module, nullptr);
  LaneValues out{};
  ASSERT_EQ(text_of(module->launch("test", one_warp, Arguments(out.data()).bytes(), nullptr)), "");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t expected = (lane < 16 ? 0xaaaau : 0xaaaa0000u + 48) + (lane % 16 == 0 ? 100 : 0);
    EXPECT_EQ(out[lane], expected) << lane;
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
