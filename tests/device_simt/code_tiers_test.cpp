// Segments that run often get code of their own while the kernel runs; nothing else changes.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "device/cpu/simt/compile/form_library.h"
#include "device/cpu/simt/compile/segment_compiler.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

/// True if LYNXPP_TEST_SHARING is set: in every test of this program, instructions that may reuse code
/// emitted for others are still emitted, and compared. Otherwise they reuse it, as for users.
const bool checks_sharing = [] {
  const bool wanted = std::getenv("LYNXPP_TEST_SHARING") != nullptr;
  FormLibrary::shared().check_sharing(wanted);
  return wanted;
}();

/// Lane l runs the loop `trips` + l times. It contains guards, an access, an operation in C++ and a call.
constexpr const char* loop = R"(
.func (.reg .b32 result) twice(.reg .b32 value)
{
  add.u32 result, value, value;
  ret;
}
.visible .entry k(.param .u64 words, .param .u32 trips)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [words];
  ld.param.u32 %r1, [trips];
  mov.u32 %r2, %tid.x;
  add.u32 %r1, %r1, %r2;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd1, %rd1, %rd2;
  mov.u32 %r3, %r2;
  mov.u32 %r4, 0;
  mov.u32 %r5, 0;
NEXT:
  mad.lo.u32 %r3, %r3, 1664525, 1013904223;
  shr.u32 %r6, %r3, 16;
  and.b32 %r7, %r6, 1;
  setp.ne.u32 %p1, %r7, 0;
  @%p1 add.u32 %r5, %r5, %r6;
  @!%p1 xor.b32 %r5, %r5, %r3;
  vadd.u32.u32.u32 %r8, %r5.b0, %r6.b1;
  ld.global.u32 %r9, [%rd1];
  @%p1 add.u32 %r9, %r9, %r8;
  st.global.u32 [%rd1], %r9;
  call (%r10), twice, (%r9);
  xor.b32 %r5, %r5, %r10;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p2, %r4, %r1;
  @%p2 bra NEXT;
  st.global.u32 [%rd1], %r5;
  ret;
}
)";

struct Expected {
  std::uint32_t word = 0;
  std::uint64_t odd = 0;  ///< iterations in which the first guard holds
};

Expected expected_of(std::uint32_t lane, std::uint32_t trips) {
  Expected result;
  std::uint32_t state = lane;
  std::uint32_t sum = 0;
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < trips + lane; ++i) {
    state = state * 1664525 + 1013904223;
    const std::uint32_t high = state >> 16;
    const bool is_odd = (high & 1) != 0;
    result.odd += is_odd;
    sum = is_odd ? sum + high : sum ^ state;
    if (is_odd) word += (sum & 255) + (high >> 8 & 255);
    sum ^= word + word;
  }
  result.word = sum;
  return result;
}

/// Checks how many of the segments above (two of the loop and the function's) have been promoted since
/// `before`. Regions hold several.
void check_own_code(std::uint64_t before, bool often) {
  const std::uint64_t got = segments_with_own_code() - before;
  if (code_tier() == CodeTier::regions) return;
  if (code_tier() == CodeTier::automatic && often) {
    EXPECT_GE(got, 1u);
    EXPECT_LE(got, 3u);
  } else {
    EXPECT_EQ(got, code_tier() == CodeTier::blocks && often ? 3u : 0u);
  }
}

void run_loop(std::uint32_t trips, LaunchCounters* counters) {
  const auto module = load(loop);
  std::array<std::uint32_t, 32> words{};
  const std::uint64_t before = segments_with_own_code();
  const Status ran =
      module->launch("k", {{1, 1, 1}, {32, 1, 1}},
                     Arguments(reinterpret_cast<std::uintptr_t>(words.data()), trips).bytes(), counters);
  ASSERT_TRUE(ran) << text_of(ran);
  check_own_code(before, trips > runs_before_own_code);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], expected_of(lane, trips).word) << "lane " << lane;
}

TEST(CodeTiers, RareSegmentsAreNotPromoted) {
  run_loop(100, nullptr);
  run_loop(2000, nullptr);
}

TEST(CodeTiers, IdenticalInstructionsReuseEmittedCode) {
  FormLibrary::shared().check_sharing(false);
  run_loop(100, nullptr);
  FormLibrary::shared().check_sharing(true);
  run_loop(100, nullptr);
  FormLibrary::shared().check_sharing(checks_sharing);
}

TEST(CodeTiers, PromotedSegmentsComputeTheSameResults) { run_loop(4 * runs_before_own_code, nullptr); }

TEST(CodeTiers, CountsIncludeStepsAndOwnCode) {
  const std::uint32_t trips = 4 * runs_before_own_code;
  LaunchCounters counters;
  run_loop(trips, &counters);
  std::uint64_t iterations = 0;
  std::uint64_t odd = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    iterations += trips + lane;
    odd += expected_of(lane, trips).odd;
  }
  EXPECT_EQ(counters.loads.global.bytes, iterations * 4);
  for (const SiteCounters& site : counters.sites) {
    if (site.opcode == "xor.b32" && site.block == 1 && site.thread_executions != iterations) {
      EXPECT_EQ(site.thread_executions, iterations - odd);
      return;
    }
  }
  ADD_FAILURE() << "the guarded instruction was not counted";
}

/// Run counts continue from launch to launch.
TEST(CodeTiers, ShortLaunchesAddUpToPromotion) {
  const auto module = load(loop);
  const std::uint32_t trips = 2 * runs_before_own_code;
  const std::uint64_t before = segments_with_own_code();
  for (int i = 0; i < 6; ++i) {
    std::array<std::uint32_t, 32> words{};
    const Status ran =
        module->launch("k", {{1, 1, 1}, {32, 1, 1}},
                       Arguments(reinterpret_cast<std::uintptr_t>(words.data()), trips).bytes(), nullptr);
    ASSERT_TRUE(ran) << text_of(ran);
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(words[lane], expected_of(lane, trips).word) << "launch " << i << ", lane " << lane;
  }
  check_own_code(before, true);
}

/// Rows, single elements and neither, of a tile of 16 columns, in global and shared memory, as scalars and
/// pairs. Threads exit the loop at different times.
constexpr const char* tile = R"(
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 trips, .param .u32 width)
{
  .reg .pred %p<2>;
  .reg .b32 %r<24>;
  .reg .b64 %rd<12>;
  .shared .align 8 .b8 own[512];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [trips];
  ld.param.u32 %r2, [width];
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %tid.y;
  mad.lo.u32 %r5, %r4, %r2, %r3;
  mul.wide.u32 %rd3, %r5, 4;
  add.u64 %rd3, %rd1, %rd3;
  mul.wide.u32 %rd4, %r4, 4;
  add.u64 %rd4, %rd1, %rd4;
  mad.lo.u32 %r6, %r3, 2, %r4;
  mul.wide.u32 %rd5, %r6, 4;
  add.u64 %rd5, %rd1, %rd5;
  mad.lo.u32 %r7, %r4, 16, %r3;
  mul.wide.u32 %rd6, %r7, 4;
  add.u64 %rd6, %rd2, %rd6;
  shl.b32 %r8, %r7, 3;
  mov.u32 %r9, own;
  add.u32 %r8, %r8, %r9;
  shl.b32 %r10, %r6, 3;
  add.u32 %r10, %r10, %r9;
  shr.u32 %r11, %r7, 3;
  add.u32 %r1, %r1, %r11;
  mov.u32 %r12, 0;
  mov.u32 %r13, 0;
NEXT:
  ld.global.u32 %r14, [%rd3];
  ld.global.u32 %r15, [%rd4+8];
  ld.global.u32 %r16, [%rd5];
  add.u32 %r17, %r14, %r13;
  st.shared.v2.u32 [%r8], {%r17, %r15};
  ld.shared.v2.u32 {%r18, %r19}, [%r8];
  ld.shared.u32 %r20, [%r10+4];
  mad.lo.u32 %r13, %r13, 5, %r18;
  xor.b32 %r13, %r13, %r19;
  add.u32 %r13, %r13, %r16;
  st.global.u32 [%rd6], %r13;
  ld.global.u32 %r13, [%rd6];
  and.b32 %r20, %r20, 0;
  add.u32 %r13, %r13, %r20;
  add.u32 %r12, %r12, 1;
  setp.lt.u32 %p1, %r12, %r1;
  @%p1 bra NEXT;
  ret;
}
)";

void run_tile(std::uint32_t width) {
  const auto module = load(tile);
  std::array<std::uint32_t, 256> in{};
  for (std::uint32_t i = 0; i < in.size(); ++i) in[i] = i * 2654435761u;
  std::array<std::uint32_t, 32> out{};
  const std::uint32_t trips = 4 * runs_before_own_code;
  const Status ran = module->launch("k", {{1, 1, 1}, {16, 2, 1}},
                                    Arguments(reinterpret_cast<std::uintptr_t>(in.data()),
                                              reinterpret_cast<std::uintptr_t>(out.data()), trips, width)
                                        .bytes(),
                                    nullptr);
  ASSERT_TRUE(ran) << text_of(ran);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t x = lane % 16;
    const std::uint32_t y = lane / 16;
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < trips + lane / 8; ++i)
      sum = ((sum * 5 + in[y * width + x] + sum) ^ in[y + 2]) + in[x * 2 + y];
    EXPECT_EQ(out[lane], sum) << "lane " << lane;
  }
}

TEST(CodeTiers, FullWarpAccessesMatchLaneAccesses) {
  run_tile(16);
  run_tile(100);
  run_tile(3);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
