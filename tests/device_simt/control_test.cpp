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

  // 32 warps: 1000 threads are 31 full warps and 8 lanes of the last one. Blocks: 10, 11 and 1 instructions.
  EXPECT_EQ(counters.warp_instructions, 32u * (10 + 11 + 1));
  EXPECT_EQ(counters.thread_instructions, 1024u * 9 + 24 + 1000u * 11 + 1024u);
  ASSERT_EQ(counters.blocks.size(), 3u);
  EXPECT_EQ(counters.blocks[1].warp_executions, 32u);
  EXPECT_EQ(counters.blocks[1].thread_executions, 1000u);
  EXPECT_EQ(counters.blocks[2].warp_executions, 32u);
  EXPECT_EQ(counters.blocks[2].thread_executions, 1024u);
}

/// Runs kernel "test" with one parameter on one block.
std::string run(const std::string& body, unsigned threads, void* out, LaunchCounters* counters = nullptr) {
  const auto module = load(body);
  if (module == nullptr) return "malformed";
  return text_of(module->launch("test", {{1, 1, 1}, {threads, 1, 1}, 0}, Arguments(out).bytes(), counters));
}

TEST(Control, LoopsOfAtomicsDoNotDivergeTheWarp) {
  // Lane 0 exits the loop at once and waits; the others iterate for longer than lanes that wait for a lock
  // would be kept waiting. Then all reconverge.
  const char* const body = R"(
.visible .entry test(.param .u64 out) {
  .reg .pred p;
  .reg .b32 t, i;
  .reg .b64 o;
  ld.param.u64 o, [out];
  mov.u32 t, %tid.x;
  mov.u32 i, 0;
  setp.eq.u32 p, t, 0;
  @p bra DONE;
LOOP:
  red.global.add.u32 [o], 1;
  add.s32 i, i, 1;
  setp.lt.u32 p, i, 100000;
  @p bra LOOP;
DONE:
  st.global.u32 [o+4], 7;
  ret;
})";
  unsigned out[2] = {};
  LaunchCounters counters;
  ASSERT_EQ(run(body, 32, out, &counters), "");
  EXPECT_EQ(out[0], 3100000u);
  const BlockCounters behind = counters_of(counters, "test", 2);
  EXPECT_EQ(behind.warp_executions, 1u);
  EXPECT_EQ(behind.thread_executions, 32u);
}

TEST(Control, CountsGuardsLoopsAndFunctionsExactly) {
  // Thread t calls `twice` if t is odd and loops t % 4 + 1 times.
  const char* const body = R"(
.func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %v;
  ld.param.b32 %v, [x];
  add.s32 %v, %v, %v;
  st.param.b32 [r], %v;
  ret;
}
.visible .entry test(.param .u64 out) {
  .reg .pred p, odd;
  .reg .b32 t, i, n, sum;
  .reg .b64 a, o;
  mov.u32 t, %tid.x;
  and.b32 i, t, 1;
  setp.ne.u32 odd, i, 0;
  mov.u32 sum, t;
  @!odd bra SKIP;
  {
    .param .b32 x;
    .param .b32 r;
    st.param.b32 [x], t;
    call.uni (r), twice, (x);
    ld.param.b32 sum, [r];
  }
SKIP:
  and.b32 n, t, 3;
  mov.u32 i, 0;
LOOP:
  @odd add.s32 sum, sum, 100;
  add.s32 i, i, 1;
  setp.le.u32 p, i, n;
  @p bra LOOP;
  ld.param.u64 o, [out];
  mad.wide.u32 a, t, 4, o;
  st.global.u32 [a], sum;
  ret;
})";
  constexpr unsigned threads = 40;  // warps of 32 and 8 lanes
  std::vector<unsigned> out(threads);
  LaunchCounters counters;
  ASSERT_EQ(run(body, threads, out.data(), &counters), "");
  for (unsigned t = 0; t < threads; ++t) EXPECT_EQ(out[t], t % 2 ? t * 2 + (t % 4 + 1) * 100 : t);

  const auto expect = [&](const char* function, unsigned block, unsigned warps, unsigned lanes,
                          unsigned warp_count, unsigned thread_count) {
    const BlockCounters found = counters_of(counters, function, block);
    EXPECT_EQ(found.warp_executions, warps) << function << block;
    EXPECT_EQ(found.thread_executions, lanes) << function << block;
    EXPECT_EQ(found.warp_instructions, warp_count) << function << block;
    EXPECT_EQ(found.thread_instructions, thread_count) << function << block;
  };
  expect("twice", 0, 2, 20, 2 * 4, 20 * 4);
  expect("test", 0, 2, 40, 2 * 5, 40 * 4 + 20);  // the guarded branch: even lanes
  expect("test", 1, 2, 20, 2 * 2, 20 * 2);       // staging and call
  expect("test", 2, 2, 20, 2 * 1, 20 * 1);       // fetching the result
  expect("test", 3, 2, 40, 2 * 2, 40 * 2);
  // Trip counts 1, 2, 3, 4: four entries per warp, 100 lanes; 60 of them are odd (2 and 4). The branch is
  // taken 60 times.
  expect("test", 4, 8, 100, 8 * 4, 100 * 2 + 60 + 60);
  expect("test", 5, 2, 40, 2 * 4, 40 * 4);
  std::uint64_t warp_sum = 0, thread_sum = 0;
  for (const BlockCounters& block : counters.blocks) {
    warp_sum += block.warp_instructions;
    thread_sum += block.thread_instructions;
  }
  EXPECT_EQ(counters.warp_instructions, warp_sum);
  EXPECT_EQ(counters.thread_instructions, thread_sum);
}

TEST(Control, NamesAnUnsupportedInstructionOnlyInTheKernelThatHasIt) {
  const auto module = load(R"(
.visible .entry good(.param .u64 out) { ret; }
.visible .entry test(.param .u64 out) {
  .reg .b32 %r<3>;
  szbias.s32 %r0, %r1, %r2;
  ret;
})");
  ASSERT_NE(module, nullptr);
  const std::uint64_t out = 0;
  EXPECT_EQ(text_of(module->launch("good", {}, Arguments(out).bytes(), nullptr)), "");
  EXPECT_EQ(text_of(module->launch("test", {}, Arguments(out).bytes(), nullptr)),
            "test.ptx:8:1: error: instruction 'szbias.s32' is not supported by the cpu device\n");
}

TEST(Control, StopsEndlessRecursion) {
  EXPECT_THAT(run(R"(
.func endless() {
  .local .align 4 .b8 space[64];
  .reg .b32 %r;
  st.local.b32 [space], %r;
  call.uni endless;
  ret;
}
.visible .entry test(.param .u64 out) { call.uni endless; ret; })",
                  1, nullptr),
              ::testing::HasSubstr("stack overflow"));
}

TEST(Control, ReportsABarrierThatCannotComplete) {
  EXPECT_THAT(
      run(R"(
.visible .entry test(.param .u64 out) {
  .reg .pred %p;
  .reg .b32 %r;
  mov.u32 %r, %tid.x;
  setp.lt.u32 %p, %r, 32;
  @%p bra FIRST;
  bar.sync 1;
  ret;
FIRST:
  bar.sync 2;
  ret;
})",
          64, nullptr),
      ::testing::HasSubstr("warp 0 of block (0, 0, 0) waits forever at barrier 2, PTX line 14: 32 of 64 "
                           "threads have arrived; warp 0 waits at barrier 2, PTX line 14; warp 1 "
                           "waits at barrier 1, PTX line 11"));
}

TEST(Control, CountsThreadsAtNamedBarriers) {
  // Warp 0 waits at barrier 3 for 64 threads; warp 1 arrives there and continues; warps 2 and 3 use barrier
  // 4.
  std::vector<unsigned> out(128);
  ASSERT_EQ(run(R"(
.visible .entry test(.param .u64 out) {
  .shared .align 4 .b32 flag[2];
  .reg .pred %p, %q, %h;
  .reg .b32 t, w, v, base;
  .reg .b64 a, o;
  mov.u32 t, %tid.x;
  shr.u32 w, t, 5;
  setp.eq.u32 %p, w, 0;
  setp.eq.u32 %q, w, 1;
  setp.ge.u32 %h, w, 2;
  mov.u32 v, 0;
  mov.u32 base, flag;
  @%h bra HIGH;
  @%q bra PRODUCER;
  bar.sync 3, 64;
  ld.shared.u32 v, [flag];
  bra DONE;
PRODUCER:
  st.shared.u32 [flag], 77;
  bar.arrive 3, 64;
  bra DONE;
HIGH:
  st.shared.u32 [base+4], 5;
  barrier.sync 4, 64;
  ld.shared.u32 v, [base+4];
DONE:
  ld.param.u64 o, [out];
  mad.wide.u32 a, t, 4, o;
  st.global.u32 [a], v;
  ret;
})",
                128, out.data()),
            "");
  for (unsigned t = 0; t < 128; ++t) EXPECT_EQ(out[t], t < 32 ? 77u : t < 64 ? 0u : 5u) << t;
}

TEST(Control, BranchesThroughATableAndShadowsRegisters) {
  std::vector<unsigned> out(70);
  ASSERT_EQ(run(R"(
.visible .entry test(.param .u64 out) {
  .reg .b32 t, k, v;
  .reg .b64 a, o;
  mov.u32 t, %tid.x;
  rem.u32 k, t, 3;
  mov.u32 v, 1000;
  { .reg .b32 v; mov.u32 v, 5; add.u32 k, k, v; sub.u32 k, k, v; }
  TABLE: .branchtargets ZERO, ONE, TWO;
  brx.idx k, TABLE;
ZERO:
  add.u32 v, v, t;
  bra DONE;
ONE:
  mul.lo.u32 v, t, t;
  bra DONE;
TWO:
  sub.u32 v, v, t;
DONE:
  ld.param.u64 o, [out];
  mad.wide.u32 a, t, 4, o;
  st.global.u32 [a], v;
  ret;
})",
                70, out.data()),
            "");
  for (unsigned t = 0; t < 70; ++t)
    EXPECT_EQ(out[t], t % 3 == 0 ? 1000 + t : t % 3 == 1 ? t * t : 1000 - t) << t;
}

TEST(Control, ExtendsNarrowLoadsAndKeepsLocalMemoryPerThread) {
  std::vector<unsigned> out(64, 0x80ff7f01u);
  ASSERT_EQ(run(R"(
.visible .entry test(.param .u64 out) {
  .local .align 8 .b8 depot[16];
  .reg .b32 t, x, y, z;
  .reg .b16 h;
  .reg .b64 a, o, sp;
  mov.u32 t, %tid.x;
  ld.param.u64 o, [out];
  mad.wide.u32 a, t, 4, o;
  ld.global.s8 x, [a+3];
  ld.global.u8 y, [a+2];
  ld.global.s16 z, [a];
  add.s32 x, x, y;
  add.s32 x, x, z;
  add.s32 x, x, t;
  mov.u64 sp, depot;
  cvta.local.u64 sp, sp;
  st.u32 [sp+8], x;
  ld.local.u32 y, [depot+8];
  st.global.u32 [a], y;
  ret;
})",
                64, out.data()),
            "");
  for (unsigned t = 0; t < 64; ++t) EXPECT_EQ(out[t], static_cast<unsigned>(-128 + 255 + 0x7f01) + t) << t;
}

TEST(Control, PassesRegistersToFunctions) {
  std::vector<int> out(33);
  ASSERT_EQ(run(R"(
.func (.reg .b32 r) scale(.reg .b32 x, .reg .pred p) {
  mul.lo.s32 r, x, 3;
  @p add.s32 r, r, 1;
  ret;
}
.visible .entry test(.param .u64 out) {
  .reg .b32 t, v;
  .reg .pred q;
  .reg .b64 a, o;
  mov.u32 t, %tid.x;
  setp.gt.u32 q, t, 9;
  call (v), scale, (t, q);
  ld.param.u64 o, [out];
  mad.wide.u32 a, t, 4, o;
  st.global.u32 [a], v;
  ret;
})",
                33, out.data()),
            "");
  for (int t = 0; t < 33; ++t) EXPECT_EQ(out[t], t * 3 + (t > 9)) << t;
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
