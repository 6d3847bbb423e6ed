// mbarrier, asynchronous copies, and atomics on vectors and on 128 bits.
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

void launch(const std::string& body, std::uint32_t threads, std::span<const std::byte> arguments) {
  const auto module = load(body);
  ASSERT_NE(module, nullptr);
  ASSERT_EQ(text_of(module->launch("test", {{1, 1, 1}, {threads, 1, 1}, 0}, arguments, nullptr)), "");
}

/// Runs one thread over a barrier `bar` in shared memory; `code` leaves results in %o0 to %o5.
std::array<std::uint64_t, 6> results_of(const std::string& code) {
  std::array<std::uint64_t, 6> out{};
  std::string stores;
  for (int i = 0; i < 6; ++i)
    stores += "  st.global.b64 [%x+" + std::to_string(8 * i) + "], %o" + std::to_string(i) + ";\n";
  launch(
      ".visible .entry test(.param .u64 p0) {\n  .shared .align 8 .b64 bar;\n  .reg .b64 %x, %o<6>, %s<4>;\n"
      "  .reg .b32 %r<4>;\n  .reg .pred %p;\n  ld.param.u64 %x, [p0];\n" +
          code + stores + "  ret;\n}\n",
      1, Arguments(out.data()).bytes());
  return out;
}

TEST(BarrierObjects, CountArrivalsAndPhases) {
  const auto out = results_of(R"(
  mbarrier.init.shared.b64 [bar], 3;
  mbarrier.arrive.shared.b64 %s0, [bar];
  mbarrier.pending_count.b64 %r0, %s0;
  cvt.u64.u32 %o0, %r0;
  mbarrier.test_wait.shared.b64 %p, [bar], %s0;
  selp.b64 %o1, 1, 0, %p;
  mbarrier.arrive.release.cta.shared::cta.b64 %s1, [bar], 2;
  mbarrier.pending_count.b64 %r0, %s1;
  cvt.u64.u32 %o2, %r0;
  mbarrier.test_wait.shared.b64 %p, [bar], %s0;
  selp.b64 %o3, 1, 0, %p;
  mbarrier.test_wait.parity.shared.b64 %p, [bar], 0;
  selp.b64 %o4, 1, 0, %p;
  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [bar], 1, 100;
  selp.b64 %o5, 1, 0, %p;
)");
  EXPECT_EQ(out, (std::array<std::uint64_t, 6>{3, 0, 2, 1, 1, 0}));
}

TEST(BarrierObjects, DropArrivals) {
  // The second phase expects one arrival less.
  const auto out = results_of(R"(
  mbarrier.init.shared.b64 [bar], 2;
  mbarrier.arrive_drop.shared.b64 _, [bar];
  mbarrier.arrive.shared.b64 %s0, [bar];
  mbarrier.test_wait.parity.shared.b64 %p, [bar], 0;
  selp.b64 %o0, 1, 0, %p;
  mbarrier.arrive.shared.b64 %s1, [bar];
  mbarrier.pending_count.b64 %r0, %s1;
  cvt.u64.u32 %o1, %r0;
  mbarrier.test_wait.shared.b64 %p, [bar], %s1;
  selp.b64 %o2, 1, 0, %p;
  mov.b64 %o3, 0;
  mov.b64 %o4, 0;
  mov.b64 %o5, 0;
)");
  EXPECT_EQ(out, (std::array<std::uint64_t, 6>{1, 1, 1, 0, 0, 0}));
}

TEST(BarrierObjects, WaitForBytes) {
  const auto out = results_of(R"(
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 %s0, [bar], 64;
  mbarrier.test_wait.shared.b64 %p, [bar], %s0;
  selp.b64 %o0, 1, 0, %p;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 60;
  mbarrier.test_wait.shared.b64 %p, [bar], %s0;
  selp.b64 %o1, 1, 0, %p;
  mbarrier.complete_tx.shared.b64 [bar], 4;
  mbarrier.test_wait.shared.b64 %p, [bar], %s0;
  selp.b64 %o2, 1, 0, %p;
  mbarrier.expect_tx.shared.b64 [bar], 8;
  mbarrier.arrive.shared.b64 _, [bar];
  mbarrier.test_wait.parity.shared.b64 %p, [bar], 1;
  selp.b64 %o3, 1, 0, %p;
  mbarrier.inval.shared.b64 [bar];
  mov.b64 %o4, 0;
  mov.b64 %o5, 0;
)");
  EXPECT_EQ(out, (std::array<std::uint64_t, 6>{0, 0, 1, 0, 0, 0}));
}

TEST(BarrierObjects, LetWarpsWaitForEachOther) {
  // Warp 0 waits for warp 3, which does not wait; all add what they read.
  std::array<std::uint32_t, 128> out{};
  launch(R"(.visible .entry test(.param .u64 p0) {
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 value;
  .reg .b64 %x, %at;
  .reg .b32 %t, %v;
  .reg .pred %p, %q;
  ld.param.u64 %x, [p0];
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @!%p mbarrier.init.shared.b64 [bar], 32;
  bar.sync 0;
  setp.lt.u32 %p, %t, 96;
  @%p bra wait;
  st.shared.u32 [value], 42;
  mbarrier.arrive.shared.b64 _, [bar];
wait:
  mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;
  @!%q bra wait;
  ld.shared.u32 %v, [value];
  mul.wide.u32 %at, %t, 4;
  add.u64 %x, %x, %at;
  st.global.u32 [%x], %v;
  ret;
})",
         128, Arguments(out.data()).bytes());
  for (const std::uint32_t value : out) EXPECT_EQ(value, 42u);
}

TEST(BarrierObjects, LetLanesWaitForLanesOfTheirWarp) {
  std::array<std::uint32_t, 32> out{};
  launch(R"(.visible .entry test(.param .u64 p0) {
  .shared .align 8 .b64 bar;
  .reg .b64 %x, %at;
  .reg .b32 %t;
  .reg .pred %p, %q;
  ld.param.u64 %x, [p0];
  mov.u32 %t, %tid.x;
  setp.eq.u32 %p, %t, 0;
  @%p mbarrier.init.shared.b64 [bar], 16;
  bar.sync 0;
  setp.lt.u32 %p, %t, 16;
  @%p bra arrive;
wait:
  mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;
  @!%q bra wait;
  bra end;
arrive:
  mbarrier.arrive.shared.b64 _, [bar];
end:
  mul.wide.u32 %at, %t, 4;
  add.u64 %x, %x, %at;
  st.global.u32 [%x], %t;
  ret;
})",
         32, Arguments(out.data()).bytes());
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane);
}

/// `copy` copies from thread t's [%from] to [%to] in shared memory, which initially contains ones.
std::array<std::uint32_t, 128> copied(const std::string& copy) {
  alignas(16) std::array<std::uint32_t, 128> from{};
  std::array<std::uint32_t, 128> to{};
  for (std::uint32_t i = 0; i < 128; ++i) from[i] = 100 + i;
  launch(R"(.visible .entry test(.param .u64 p0, .param .u64 p1) {
  .shared .align 16 .b8 target[512];
  .shared .align 8 .b64 bar;
  .reg .b64 %from, %out, %at, %v<2>, %policy;
  .reg .b32 %t, %to, %n, %first;
  .reg .pred %odd, %one, %q;
  ld.param.u64 %from, [p0];
  ld.param.u64 %out, [p1];
  mov.u32 %t, %tid.x;
  mov.u32 %first, target;
  mad.lo.u32 %to, %t, 16, %first;
  mul.wide.u32 %at, %t, 16;
  add.u64 %from, %from, %at;
  add.u64 %out, %out, %at;
  and.b32 %n, %t, 1;
  setp.eq.u32 %odd, %n, 1;
  setp.eq.u32 %one, %t, 0;
  mov.b64 %v0, -1;
  st.shared.v2.b64 [%to], {%v0, %v0};
  @%one mbarrier.init.shared.b64 [bar], 1;
  bar.sync 0;
)" + copy + R"(
  bar.sync 0;
  ld.shared.v2.b64 {%v0, %v1}, [%to];
  st.global.v2.b64 [%out], {%v0, %v1};
  ret;
})",
         32, Arguments(static_cast<const std::uint32_t*>(from.data()), to.data()).bytes());
  return to;
}

TEST(AsynchronousCopies, MoveTheRequestedBytes) {
  struct Case {
    const char* code;
    std::uint32_t words, odd_words;  ///< copied; the rest of the copy's size is zero
    std::uint32_t size;
  };
  for (const Case& form :
       {Case{"cp.async.ca.shared.global [%to], [%from], 4;\n cp.async.commit_group;\n cp.async.wait_group 0;",
             1, 1, 1},
        {"cp.async.ca.shared::cta.global.L2::128B [%to], [%from], 8;\n cp.async.wait_all;", 2, 2, 2},
        {"cp.async.cg.shared.global [%to], [%from], 16;\n cp.async.wait_all;", 4, 4, 4},
        {"shl.b32 %n, %n, 3;\n cp.async.ca.shared.global [%to], [%from], 16, %n;\n cp.async.wait_all;", 0, 2,
         4},
        {"cp.async.ca.shared.global [%to], [%from], 16, %odd;\n cp.async.wait_all;", 4, 0, 4},
        {"createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;\n"
         "cp.async.cg.shared.global.L2::cache_hint [%to], [%from], 16, %policy;\n cp.async.wait_all;",
         4, 4, 4}}) {
    const auto to = copied(form.code);
    for (std::uint32_t i = 0; i < 128; ++i) {
      const std::uint32_t word = i % 4;
      const std::uint32_t taken = i / 4 % 2 == 1 ? form.odd_words : form.words;
      const std::uint32_t expected = word < taken ? 100 + i : word < form.size ? 0u : ~0u;
      EXPECT_EQ(to[i], expected) << form.code << " word " << i;
    }
  }
}

TEST(AsynchronousCopies, CompleteBytesAtBarriers) {
  const auto to = copied(R"(
  @!%one bra wait;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%from], 512, [bar];
wait:
  mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;
  @!%q bra wait;
)");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(to[i], 100 + i);
  const auto other = copied(R"(
  @%one mbarrier.init.shared.b64 [bar], 33;
  bar.sync 0;
  cp.async.ca.shared.global [%to], [%from], 16;
  cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
  cp.async.mbarrier.arrive.shared.b64 [bar];
  @%one mbarrier.arrive.shared.b64 _, [bar];
again:
  mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;
  @!%q bra again;
)");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(other[i], 100 + i);
}

TEST(AsynchronousCopies, AreRejectedByNameIfUnknown) {
  for (const char* instruction :
       {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%from], [%to], 16",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%from], [%to], 16",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%from], [%to], 16",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and.b64 [%to], [%to], "
        "16, [bar]",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [%to], [%from], "
        "16, "
        "[bar], %n",
        "cp.async.ca.shared.global [%to], [%from], 12"}) {
    const auto module =
        load(".visible .entry test() {\n  .shared .b64 bar;\n  .reg .b64 %from;\n  .reg .b32 %to, %n;\n  " +
             std::string(instruction) + ";\n  ret;\n}\n");
    ASSERT_NE(module, nullptr);
    EXPECT_NE(text_of(module->compile("test", {})).find("is not supported by the cpu device"),
              std::string::npos)
        << instruction;
  }
}

TEST(WideAtomics, WorkOnEachElement) {
  alignas(16) std::array<float, 4> sums = {0.5f, 1.0f, 2.0f, 3.0f};
  std::array<float, 4> before{};
  launch(R"(.visible .entry test(.param .u64 p0, .param .u64 p1) {
  .reg .b64 %x, %y;
  .reg .f32 %f<4>, %one;
  ld.param.u64 %x, [p0];
  ld.param.u64 %y, [p1];
  mov.f32 %one, 0f3F800000;
  atom.global.v4.f32.add {%f0, %f1, %f2, %f3}, [%x], {%one, %one, %one, %one};
  red.global.add.v2.f32 [%x], {%one, %one};
  st.global.v4.f32 [%y], {%f0, %f1, %f2, %f3};
  ret;
})",
         1, Arguments(sums.data(), before.data()).bytes());
  EXPECT_EQ(before, (std::array<float, 4>{0.5f, 1.0f, 2.0f, 3.0f}));
  EXPECT_EQ(sums, (std::array<float, 4>{2.5f, 3.0f, 3.0f, 4.0f}));
}

TEST(WideAtomics, ExchangeAndCompare128Bits) {
  alignas(16) std::array<std::uint64_t, 8> words = {1, 2, 0, 0, 0, 0, 0, 0};
  launch(R"(.visible .entry test(.param .u64 p0) {
  .reg .b64 %x, %a<4>;
  .reg .b128 %w<4>;
  ld.param.u64 %x, [p0];
  mov.b64 %a0, 7;
  mov.b64 %a1, 8;
  mov.b128 %w0, {%a0, %a1};
  atom.global.exch.b128 %w1, [%x], %w0;
  st.global.b128 [%x+16], %w1;
  atom.global.cas.b128 %w2, [%x], %w1, %w1;
  st.global.b128 [%x+32], %w2;
  atom.relaxed.gpu.global.cas.b128 %w2, [%x], %w0, %w1;
  ld.global.b128 %w3, [%x];
  st.global.b128 [%x+48], %w3;
  ret;
})",
         1, Arguments(words.data()).bytes());
  EXPECT_EQ(words, (std::array<std::uint64_t, 8>{1, 2, 1, 2, 7, 8, 1, 2}));
}

TEST(CooperativeLaunches, ProvideAGridWorkspace) {
  // Every block counts itself in the workspace's second word and waits until all have.
  const std::string body = R"(.visible .entry test(.param .u64 p0) {
  .reg .b64 %x, %at, %w;
  .reg .b32 %high, %low, %n, %b;
  .reg .pred %p;
  ld.param.u64 %x, [p0];
  mov.u32 %high, %envreg1;
  mov.u32 %low, %envreg2;
  mov.b64 %w, {%low, %high};
  mov.u32 %b, %ctaid.x;
  mul.wide.u32 %at, %b, 4;
  add.u64 %x, %x, %at;
  mov.u32 %n, 0;
  setp.eq.u64 %p, %w, 0;
  @%p bra done;
  atom.add.u32 %n, [%w+4], 1;
wait:
  ld.acquire.gpu.u32 %n, [%w+4];
  setp.lt.u32 %p, %n, 5;
  @%p bra wait;
done:
  st.global.u32 [%x], %n;
  ret;
})";
  const auto module = load(body);
  ASSERT_NE(module, nullptr);
  for (const bool cooperative : {true, false}) {
    std::array<std::uint32_t, 5> out{};
    ASSERT_EQ(text_of(module->launch("test", {{5, 1, 1}, {1, 1, 1}, 0, cooperative},
                                     Arguments(out.data()).bytes(), nullptr)),
              "");
    for (const std::uint32_t count : out) EXPECT_EQ(count, cooperative ? 5u : 0u);
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
