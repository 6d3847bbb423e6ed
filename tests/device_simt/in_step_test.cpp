// Blocks whose warps run from barrier to barrier together, and every event that ends this: memory and
// failures must equal those of the first tier, which inspects each warp's stack.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "code_tier.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using Words = std::vector<std::uint32_t>;

/// 12 rounds: all threads write to shared memory, wait, and read what others have written. `inside` is code
/// between the two barriers of a round and may use %round, %thread, %warp, %lane, %value and $round; `second`
/// is the second barrier.
std::string rounds(const std::string& inside, const std::string& second = "bar.sync 0;") {
  return R"(
.shared .align 4 .b8 words[4096];
.shared .align 4 .u32 flag;
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<8>;
  .reg .b32 %r<32>, %round, %thread, %warp, %lane, %value, %threads;
  .reg .b64 %rd<8>, %in, %out;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  shr.u32 %warp, %thread, 5;
  and.b32 %lane, %thread, 31;
  mad.lo.s32 %r1, %ctaid.x, %threads, %thread;
  mul.wide.u32 %rd1, %r1, 4;
  add.s64 %in, %in, %rd1;
  add.s64 %out, %out, %rd1;
  ld.global.u32 %value, [%in];
  setp.eq.u32 %p1, %thread, 0;
  @%p1 st.shared.u32 [flag], 0;
  mov.u32 %round, 0;
  mov.u32 %r3, words;
ROUND:
  shl.b32 %r2, %thread, 2;
  add.u32 %r2, %r2, %r3;
  st.shared.u32 [%r2], %value;
  bar.sync 0;
)" + inside +
         R"(
  mad.lo.u32 %r4, %round, 7, %thread;
  add.u32 %r4, %r4, 1;
  rem.u32 %r4, %r4, %threads;
  shl.b32 %r4, %r4, 2;
  add.u32 %r4, %r4, %r3;
  ld.shared.u32 %r5, [%r4];
  mad.lo.u32 %value, %value, 3, %r5;
)" + second +
         R"(
  add.u32 %round, %round, 1;
  setp.lt.u32 %p1, %round, 12;
  @%p1 bra ROUND;
END:
  st.global.u32 [%out], %value;
  ret;
}
)";
}

struct Ran {
  Words out;
  std::string failure;
};

Ran run(const std::string& text, const Tier& tier, std::uint32_t threads) {
  const ChosenTier chosen(tier);
  const auto module = load(text);
  constexpr std::uint32_t blocks = 5;
  Ran ran;
  Words in;
  for (std::uint32_t i = 0; i < blocks * threads; ++i) in.push_back(i * 2654435761u);
  for (int launch = 0; launch < 3 && ran.failure.empty(); ++launch) {
    ran.out.assign(in.size(), 0xabababab);
    const Arguments arguments(reinterpret_cast<std::uintptr_t>(in.data()),
                              reinterpret_cast<std::uintptr_t>(ran.out.data()));
    ran.failure = text_of(module->launch("k", {{blocks, 1, 1}, {threads, 1, 1}}, arguments.bytes(), nullptr));
  }
  return ran;
}

void expect_same(const std::string& text) {
  for (const std::uint32_t threads : {64u, 128u, 200u, 1024u}) {
    const Ran expected = run(text, tiers[0], threads);
    EXPECT_EQ(expected.failure, "") << threads;
    for (const Tier& tier : tiers) {
      const Ran ran = run(text, tier, threads);
      EXPECT_EQ(ran.failure, "") << tier.name << ", " << threads;
      EXPECT_EQ(ran.out, expected.out) << tier.name << ", " << threads;
    }
  }
}

/// Computes the results of the rounds on the host.
TEST(InStep, RoundsMatchTheHost) {
  for (const std::uint32_t threads : {32u, 64u, 200u, 1024u}) {
    Words values;
    for (std::uint32_t i = 0; i < 5 * threads; ++i) values.push_back(i * 2654435761u);
    for (std::uint32_t round = 0; round < 12; ++round) {
      const Words before = values;
      for (std::uint32_t i = 0; i < values.size(); ++i) {
        const std::uint32_t other = (round * 7 + i % threads + 1) % threads;
        values[i] = before[i] * 3 + before[i / threads * threads + other];
      }
    }
    for (const Tier& tier : tiers) {
      const Ran ran = run(rounds(""), tier, threads);
      EXPECT_EQ(ran.failure, "") << tier.name;
      EXPECT_EQ(ran.out, values) << tier.name << ", " << threads;
    }
  }
}

TEST(InStep, WarpsMayExitEarlier) {
  expect_same(rounds(R"(
  add.u32 %r6, %warp, 3;
  setp.eq.u32 %p2, %round, %r6;
  @%p2 bra END;
)"));
}

TEST(InStep, LanesMayExitEarlier) {
  expect_same(rounds(R"(
  add.u32 %r6, %lane, 2;
  setp.eq.u32 %p2, %round, %r6;
  @%p2 bra END;
)"));
}

TEST(InStep, LanesMayDivergeBetweenBarriers) {
  expect_same(rounds(R"(
  and.b32 %r6, %thread, %round;
  setp.eq.u32 %p2, %r6, 3;
  @!%p2 bra JOIN;
  mad.lo.u32 %value, %value, 5, %round;
JOIN:
)"));
}

TEST(InStep, WarpsMayWaitAtDifferentInstructions) {
  expect_same(rounds("", R"(
  and.b32 %r6, %warp, 1;
  setp.eq.u32 %p2, %r6, 0;
  @%p2 bra EVEN;
  add.u32 %value, %value, 1;
  bar.sync 0;
  bra.uni JOIN;
EVEN:
  bar.sync 0;
JOIN:
)"));
}

TEST(InStep, OtherBarriersMayIntervene) {
  expect_same(rounds(R"(
  setp.gt.u32 %p2, %warp, 1;
  @%p2 bra JOIN;
  bar.sync 1, 64;
JOIN:
)"));
}

TEST(InStep, BarriersMayReduce) {
  expect_same(rounds(R"(
  and.b32 %r6, %value, 1;
  setp.eq.u32 %p2, %r6, 0;
  bar.red.popc.u32 %r7, 0, %p2;
  add.u32 %value, %value, %r7;
)"));
}

TEST(InStep, AWarpMayTakeManyTurns) {
  expect_same(rounds(R"(
  mov.u32 %r6, 0;
  setp.eq.u32 %p2, %warp, 1;
  selp.u32 %r7, 9000, 3, %p2;
LOOP:
  mad.lo.u32 %value, %value, 17, %r6;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p2, %r6, %r7;
  @%p2 bra LOOP;
)"));
}

TEST(InStep, AWarpMayWaitForAnother) {
  expect_same(rounds(R"(
  add.u32 %r8, %round, 1;
  setp.eq.u32 %p2, %warp, 1;
  @%p2 bra SET;
WAIT:
  ld.volatile.shared.u32 %r6, [flag];
  setp.lt.u32 %p2, %r6, %r8;
  @%p2 bra WAIT;
  bra.uni JOIN;
SET:
  st.volatile.shared.u32 [flag], %r8;
JOIN:
)"));
}

TEST(InStep, FailuresAreTheSame) {
  const std::string text = rounds(R"(
  setp.ne.u32 %p2, %round, 7;
  setp.ne.or.u32 %p2, %thread, 70, %p2;
  mov.u32 %r6, %ctaid.x;
  setp.ne.or.u32 %p2, %r6, 3, %p2;
  mov.u64 %rd2, 16;
  @!%p2 ld.global.u32 %value, [%rd2];
)");
  const Ran expected = run(text, tiers[0], 128);
  EXPECT_NE(expected.failure, "");
  for (const Tier& tier : tiers) EXPECT_EQ(run(text, tier, 128).failure, expected.failure) << tier.name;
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
