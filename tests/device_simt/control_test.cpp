// Divergence, calls and exact counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

constexpr const char* vecadd = R"(
.visible .entry vecadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $L__BB0_2;
  cvta.to.global.u64 %rd4, %rd1;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  cvta.to.global.u64 %rd7, %rd2;
  add.s64 %rd8, %rd7, %rd5;
  ld.global.f32 %f1, [%rd8];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f2, %f1;
  cvta.to.global.u64 %rd9, %rd3;
  add.s64 %rd10, %rd9, %rd5;
  st.global.f32 [%rd10], %f3;
$L__BB0_2:
  ret;
})";

TEST(Control, AddsVectorsAndCountsExactly) {
  const auto module = load(vecadd);
  ASSERT_NE(module, nullptr);
  constexpr int count = 1000;
  std::vector<float> a(count), b(count), c(count + 24, -1.0f);
  for (int i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i) * 0.5f;
    b[i] = static_cast<float>(i * i);
  }
  LaunchCounters counters;
  const Arguments arguments(a.data(), b.data(), c.data(), count);
  const Status status = module->launch("vecadd", {{4, 1, 1}, {256, 1, 1}, 0}, arguments.bytes(), &counters);
  ASSERT_EQ(text_of(status), "");
  for (int i = 0; i < count; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
  for (int i = count; i < count + 24; ++i) ASSERT_EQ(c[i], -1.0f) << i;

  // 32 warps; 1000 threads are 31 full warps and 8 lanes of the last one. Blocks: 10, 11 and 1 instructions.
  EXPECT_EQ(counters.warp_instructions, 32u * (10 + 11 + 1));
  EXPECT_EQ(counters.thread_instructions, 1024u * 9 + 24 + 1000u * 11 + 1024u);
  ASSERT_EQ(counters.blocks.size(), 3u);
  EXPECT_EQ(counters.blocks[1].warp_executions, 32u);
  EXPECT_EQ(counters.blocks[1].thread_executions, 1000u);
  EXPECT_EQ(counters.blocks[2].warp_executions, 32u);
  EXPECT_EQ(counters.blocks[2].thread_executions, 1024u);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
