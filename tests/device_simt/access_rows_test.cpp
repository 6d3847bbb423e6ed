// Inline accesses of regions to rows, with one check for several accesses: results and failures must equal
// those of all other code, for blocks of all shapes.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "code_tier.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

std::string printed(Dim3 block) { return std::to_string(block.x) + "x" + std::to_string(block.y); }

/// Output of a launch of eight blocks that write `out`.
using Words = std::vector<std::uint32_t>;
Words words_of(const std::string& text, const Tier& tier, Dim3 block, const Words& in, std::size_t count) {
  const ChosenTier chosen(tier);
  const auto module = load(text);
  Words out(count, 0xabababab);
  for (int launch = 0; launch < 2; ++launch) {
    const Arguments arguments(reinterpret_cast<std::uintptr_t>(in.data()),
                              reinterpret_cast<std::uintptr_t>(out.data()));
    const Status ran = module->launch("k", {{8, 1, 1}, block}, arguments.bytes(), nullptr);
    EXPECT_TRUE(ran) << text_of(ran);
  }
  return out;
}

void expect_same(const std::string& text, const std::vector<Dim3>& blocks, const Words& in,
                 std::size_t count) {
  for (const Dim3& block : blocks) {
    const Words expected = words_of(text, tiers[0], block, in, count);
    EXPECT_NE(expected, Words(count, 0xabababab)) << printed(block);
    for (const Tier& tier : tiers)
      EXPECT_EQ(words_of(text, tier, block, in, count), expected) << tier.name << ", " << printed(block);
  }
}

Words numbers(std::size_t count) {
  Words words;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) words.push_back(state = state * 1664525 + 1013904223);
  return words;
}

const std::vector<Dim3> shapes = {{32, 1, 1}, {64, 2, 1}, {16, 4, 1}, {16, 3, 2},  {8, 8, 1},  {100, 1, 1},
                                  {33, 3, 1}, {48, 2, 1}, {1, 64, 1}, {20, 10, 1}, {4, 4, 16}, {17, 1, 1}};

/// Sums, products, shifts and conversions of the thread's index, over several segments, in a loop and under
/// guards; adjacent accesses through one register.
constexpr const char* indices = R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b16 %rs<4>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
  .shared .align 4 .b8 own[8192];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  mov.u32 %r3, %tid.z;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %ntid.y;
  mov.u32 %r6, %ctaid.x;
  mad.lo.s32 %r28, %r3, %r5, %r2;
  mad.lo.s32 %r7, %r28, %r4, %r1;
  setp.gt.u32 %p1, %r6, 5;
  @%p1 bra ODD;
  add.s32 %r8, %r7, 1;
  sub.s32 %r9, 1000, %r7;
  bra JOIN;
ODD:
  add.s32 %r8, %r7, 3;
  sub.s32 %r9, 2000, %r7;
JOIN:
  mul.wide.s32 %rd3, %r8, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.u32 %r10, [%rd4+-4];
  ld.global.u32 %r11, [%rd4];
  ld.global.u32 %r12, [%rd4+12];
  cvt.s64.s32 %rd5, %r9;
  shl.b64 %rd5, %rd5, 2;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.u32 %r13, [%rd6];
  mul.wide.u32 %rd7, %r2, 8;
  add.s64 %rd8, %rd1, %rd7;
  ld.global.v2.u32 {%r14, %r15}, [%rd8];
  cvt.u16.u32 %rs1, %r7;
  add.s16 %rs1, %rs1, -9;
  mul.wide.u16 %r16, %rs1, 4;
  cvt.u64.u32 %rd9, %r16;
  add.s64 %rd10, %rd1, %rd9;
  ld.global.u32 %r17, [%rd10];
  shl.b32 %r18, %r7, 3;
  mov.u32 %r19, own;
  add.s32 %r18, %r18, %r19;
  st.shared.v2.u32 [%r18], {%r10, %r13};
  mov.u32 %r20, 0;
NEXT:
  ld.shared.u32 %r21, [%r18];
  ld.shared.u32 %r22, [%r18+4];
  mad.lo.u32 %r21, %r21, 3, %r22;
  add.u32 %r21, %r21, %r14;
  st.shared.u32 [%r18], %r21;
  ld.global.u32 %r23, [%rd4];
  add.u32 %r22, %r22, %r23;
  st.shared.u32 [%r18+4], %r22;
  add.s64 %rd4, %rd4, 64;
  add.u32 %r20, %r20, 1;
  setp.lt.u32 %p2, %r20, 7;
  @%p2 bra NEXT;
  and.b32 %r24, %r7, 3;
  setp.eq.u32 %p3, %r24, 1;
  @%p3 ld.shared.u32 %r21, [%r18+4];
  xor.b32 %r25, %r21, %r11;
  xor.b32 %r26, %r22, %r12;
  add.u32 %r25, %r25, %r17;
  add.u32 %r26, %r26, %r15;
  mad.lo.u32 %r27, %r6, 256, %r7;
  mul.wide.u32 %rd11, %r27, 8;
  add.s64 %rd12, %rd2, %rd11;
  st.global.u32 [%rd12], %r25;
  @!%p3 st.global.u32 [%rd12+4], %r26;
  ret;
}
)";

TEST(AccessRows, MatchForBlocksOfAllShapes) { expect_same(indices, shapes, numbers(66'000), 4096); }

/// Lanes that begin at one element and half warps that do not; a step that matches no element size.
TEST(AccessRows, MatchSingleElementsAndOddSteps) {
  expect_same(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<2>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %laneid;
  mov.u32 %r3, %ctaid.x;
  mul.wide.u32 %rd3, %r3, 4;
  add.s64 %rd3, %rd1, %rd3;
  ld.global.u32 %r4, [%rd3];
  ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1+32];
  mul.wide.u32 %rd4, %r2, 12;
  add.s64 %rd4, %rd1, %rd4;
  ld.global.u32 %r9, [%rd4+8];
  mov.u32 %r10, 31;
  sub.u32 %r10, %r10, %r2;
  mul.wide.u32 %rd5, %r10, 4;
  add.s64 %rd5, %rd1, %rd5;
  ld.global.u32 %r11, [%rd5];
  add.u32 %r4, %r4, %r5;
  xor.b32 %r4, %r4, %r8;
  mad.lo.u32 %r4, %r9, 5, %r4;
  mad.lo.u32 %r4, %r11, 7, %r4;
  mad.lo.u32 %r12, %r3, 128, %r1;
  mul.wide.u32 %rd6, %r12, 4;
  add.s64 %rd6, %rd2, %rd6;
  st.global.u32 [%rd6], %r4;
  ret;
}
)",
              {{32, 1, 1}, {100, 1, 1}, {128, 1, 1}}, numbers(1000), 1024);
}

/// One segment writes a register, and a longer path around it does not. The paths join where it is read,
/// before the longer path's segments are known.
TEST(AccessRows, HandleRegistersThatSomePathsDoNotWrite) {
  expect_same(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mul.lo.u32 %r5, %r1, 5;
  and.b32 %r5, %r5, 63;
  bar.sync 0;
  mov.u32 %r9, 1;
  setp.gt.u32 %p1, %r2, 3;
  @%p1 bra WRITES;
  add.u32 %r9, %r9, 1;
  setp.gt.u32 %p2, %r2, 100;
  @%p2 bra DONE;
  add.u32 %r9, %r9, 3;
  setp.gt.u32 %p3, %r2, 101;
  @%p3 bra DONE;
  add.u32 %r9, %r9, 5;
  bra READS;
WRITES:
  mov.u32 %r10, %tid.x;
  add.u32 %r5, %r10, 7;
READS:
  ld.param.u64 %rd8, [in];
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd3, %rd8, %rd3;
  ld.global.u32 %r6, [%rd3];
  add.u32 %r6, %r6, %r9;
  mad.lo.u32 %r7, %r2, 128, %r1;
  mul.wide.u32 %rd4, %r7, 4;
  add.s64 %rd4, %rd2, %rd4;
  st.global.u32 [%rd4], %r6;
DONE:
  ret;
}
)",
              {{32, 1, 1}, {128, 1, 1}}, numbers(200), 1024);
}

/// Sums whose terms are NaNs with any bit pattern, and values computed from them.
TEST(AccessRows, KeepNaNsInChainsOfSums) {
  Words in = numbers(512);
  for (std::size_t i = 0; i < in.size(); i += 3) in[i] = 0x7fc12345u ^ (i % 2 << 31);
  for (std::size_t i = 1; i < in.size(); i += 7) in[i] = 0xff800000u;
  expect_same(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .f32 %f<16>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.f32 %f1, [%rd4];
  ld.global.f32 %f2, [%rd4+256];
  ld.global.f32 %f3, [%rd4+512];
  add.f32 %f4, %f1, %f2;
  fma.rn.f32 %f5, %f4, %f3, %f1;
  mul.ftz.f32 %f6, %f5, %f4;
  add.sat.f32 %f7, %f6, %f5;
  neg.f32 %f8, %f5;
  sub.rz.f32 %f9, %f6, %f4;
  min.f32 %f10, %f9, %f2;
  copysign.f32 %f11, %f8, %f5;
  mov.b32 %r3, %f5;
  mov.b32 %r4, %f8;
  xor.b32 %r3, %r3, %r4;
  mad.lo.u32 %r5, %r2, 128, %r1;
  mul.wide.u32 %rd5, %r5, 32;
  add.s64 %rd6, %rd2, %rd5;
  st.global.v4.f32 [%rd6], {%f4, %f5, %f6, %f7};
  st.global.v4.f32 [%rd6+16], {%f8, %f9, %f10, %f11};
  st.global.b32 [%rd6], %r3;
  ret;
}
)",
              {{32, 1, 1}, {64, 1, 1}, {128, 1, 1}}, in, 8192);
}

/// Lanes update words that they share with others, in lane order.
TEST(AccessRows, KeepTheLaneOrderOfSharedAtomics) {
  std::string text = R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<2>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<16>;
  .shared .align 8 .b8 own[128];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd3, %rd1, %rd3;
  ld.global.u32 %r3, [%rd3];
  shr.u32 %r4, %r3, 13;
  and.b32 %r4, %r4, 120;
  mov.u32 %r5, own;
  add.u32 %r4, %r4, %r5;
  setp.lt.u32 %p1, %r1, 16;
  @%p1 mul.wide.u32 %rd4, %r1, 8;
  @%p1 cvt.u32.u64 %r6, %rd4;
  @%p1 add.u32 %r6, %r6, %r5;
  @%p1 mov.u64 %rd5, 0x123456789;
  @%p1 st.shared.u64 [%r6], %rd5;
  bar.sync 0;
  cvt.u64.u32 %rd6, %r3;
  mov.u32 %r9, 0;
)";
  const char* const updates[] = {
      "atom.shared.add.u32 %r8, [%r4], %r3;",      "red.shared.add.u32 [%r4+4], %r1;",
      "atom.shared.min.s32 %r8, [%r4+4], %r3;",    "atom.shared.max.u32 %r8, [%r4], %r3;",
      "atom.shared.xor.b32 %r8, [%r4], %r3;",      "@%p1 atom.shared.or.b32 %r8, [%r4], %r1;",
      "atom.shared.exch.b32 %r8, [%r4+4], %r3;",   "atom.shared.inc.u32 %r8, [%r4], %r3;",
      "atom.shared.cas.b32 %r8, [%r4], %r8, %r3;", "red.shared.and.b32 [%r4], %r3;",
  };
  for (const char* update : updates) text += std::string(update) + "\n  mad.lo.u32 %r9, %r9, 31, %r8;\n";
  text += R"(
  atom.shared.add.u64 %rd7, [%r4], %rd6;
  atom.shared.max.s64 %rd8, [%r4], %rd7;
  xor.b64 %rd7, %rd7, %rd8;
  cvt.u32.u64 %r10, %rd7;
  add.u32 %r9, %r9, %r10;
  bar.sync 0;
  mad.lo.u32 %r11, %r2, 128, %r1;
  mul.wide.u32 %rd9, %r11, 16;
  add.s64 %rd9, %rd2, %rd9;
  st.global.u32 [%rd9], %r9;
  ld.shared.u64 %rd10, [%r4];
  st.global.u64 [%rd9+8], %rd10;
  ret;
}
)";
  // One warp each, so that only the order of its lanes matters.
  expect_same(text, {{32, 1, 1}, {20, 1, 1}}, numbers(64), 4096);
}

/// A kernel whose last lanes access memory out of bounds fails and names the same lane in all code.
TEST(AccessRows, AccessesPastTheEndAreNamed) {
  const char* const text = R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .shared .align 4 .b8 own[256];
  mov.u32 %r1, %tid.x;
  mov.u32 %r5, %ctaid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, own;
  add.u32 %r2, %r2, %r3;
  st.shared.u32 [%r2], %r1;
  st.shared.u32 [%r2+128], %r1;
  setp.lt.u32 %p1, %r5, 7;
  @%p1 bra DONE;
  add.u32 %r2, %r2, 4;
  UPDATE
DONE:
  ret;
}
)";
  for (const char* update : {"ld.shared.u32 %r4, [%r2];\n  ld.shared.u32 %r4, [%r2+128];",
                             "st.shared.u32 [%r2+128], %r1;", "atom.shared.add.u32 %r4, [%r2+128], %r1;",
                             "ld.shared.u32 %r4, [%r2+1];", "atom.shared.exch.b32 %r4, [%r2+2], %r1;"}) {
    std::string kernel = text;
    kernel.replace(kernel.find("UPDATE"), 6, update);
    std::optional<std::string> expected;
    for (const Tier& tier : tiers) {
      const ChosenTier chosen(tier);
      const auto module = load(kernel);
      const std::uint64_t nothing = 0;
      const std::string failure =
          text_of(module->launch("k", {{8, 1, 1}, {32, 1, 1}}, Arguments(nothing, nothing).bytes(), nullptr));
      EXPECT_NE(failure, "") << update << ", " << tier.name;
      if (!expected) expected = failure;
      EXPECT_EQ(failure, *expected) << update << ", " << tier.name;
    }
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
