// Memory that kernels read and write, and whether their launches can be repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "engine/memory_effects.h"
#include "interposer/trials/replay.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Returns a kernel with parameters in, out (pointers) and n, and `body`.
std::string kernel_with(const std::string& body, const std::string& declarations = {}) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + declarations +
         ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<12>;\n.reg .f32 %f<4>;\n"
         "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\n"
         "cvta.to.global.u64 %rd3, %rd1;\ncvta.to.global.u64 %rd4, %rd2;\n"
         "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd5, %r2, 4;\n"
         "add.s64 %rd6, %rd3, %rd5;\nadd.s64 %rd7, %rd4, %rd5;\n" +
         body + "ret;\n}\n";
}

engine::MemoryEffects effects_of(const std::string& body, const std::string& declarations = {}) {
  const Result<engine::MemoryEffects> effects = engine::memory_effects(kernel_with(body, declarations), "k");
  EXPECT_TRUE(effects.ok()) << (effects ? "" : render(effects.error().diagnostics));
  return effects ? *effects : engine::MemoryEffects();
}

TEST(MemoryEffects, FollowPointersToParameters) {
  const engine::MemoryEffects effects =
      effects_of("ld.global.f32 %f1, [%rd6];\nst.global.f32 [%rd7], %f1;\n");
  EXPECT_THAT(effects.reads.words, ElementsAre(0));
  EXPECT_THAT(effects.writes.words, ElementsAre(8));
  EXPECT_FALSE(effects.reads.has_unknown || effects.writes.has_unknown);
  EXPECT_FALSE(effects.updates || effects.communicates);
  EXPECT_EQ(effects.other, "");
  ASSERT_EQ(effects.parameters.size(), 3u);
  EXPECT_EQ(effects.parameters[2].offset, 16u);
}

TEST(MemoryEffects, KeepAllRootsOfAnAddress) {
  const engine::MemoryEffects effects = effects_of(
      "setp.eq.s32 %p1, %r1, 0;\nselp.b64 %rd8, %rd6, %rd7, %p1;\nxor.b64 %rd8, %rd8, 64;\n"
      "st.global.f32 [%rd8], %f1;\n");
  EXPECT_THAT(effects.writes.words, ElementsAre(0, 8));
  EXPECT_TRUE(effects.reads.empty());
  EXPECT_THAT(effects_of("setp.eq.s32 %p1, %r1, 0;\nmov.u64 %rd8, %rd6;\n@%p1 mov.u64 %rd8, %rd7;\n"
                         "ld.global.f32 %f1, [%rd8];\n")
                  .reads.words,
              ElementsAre(0, 8));
}

TEST(MemoryEffects, FollowPointersThroughLoops) {
  const engine::MemoryEffects effects = effects_of(
      "mov.u64 %rd8, %rd6;\nmov.u64 %rd9, %rd7;\n"
      "again:\nld.global.f32 %f1, [%rd8];\nadd.s64 %rd8, %rd8, 4;\nadd.s32 %r2, %r2, 1;\n"
      "setp.lt.s32 %p1, %r2, %r1;\n@%p1 mov.u64 %rd8, %rd9;\n@%p1 bra again;\n");
  EXPECT_THAT(effects.reads.words, ElementsAre(0, 8));
}

TEST(MemoryEffects, PointersFromMemoryAreUnknown) {
  EXPECT_TRUE(effects_of("ld.global.u64 %rd8, [%rd6];\nst.global.f32 [%rd8], %f1;\n").writes.has_unknown);
  EXPECT_TRUE(
      effects_of(
          "ld.global.v2.u32 {%r3, %r4}, [%rd6];\nmov.b64 %rd8, {%r3, %r4};\nst.global.f32 [%rd8], %f1;\n")
          .writes.has_unknown)
      << "in two halves";
  EXPECT_TRUE(effects_of("mov.u64 %rd8, 4096;\nst.global.f32 [%rd8], %f1;\n").writes.has_unknown);
  EXPECT_TRUE(effects_of("ld.param.u32 %r3, [out+4];\ncvt.u64.u32 %rd8, %r3;\nshl.b64 %rd8, %rd8, 32;\n"
                         "st.global.f32 [%rd8], %f1;\n")
                  .writes.has_unknown)
      << "half of a parameter";
  // An index from memory leaves the pointer known.
  const engine::MemoryEffects gathered = effects_of(
      "ld.global.u32 %r3, [%rd6];\nmul.wide.u32 %rd8, %r3, 4;\nadd.s64 %rd8, %rd4, %rd8;\n"
      "ld.global.f32 %f1, [%rd8];\n");
  EXPECT_THAT(gathered.reads.words, ElementsAre(0, 8));
  EXPECT_FALSE(gathered.reads.has_unknown);
}

TEST(MemoryEffects, IgnoreMemoryOfTheBlock) {
  const engine::MemoryEffects effects = effects_of(
      "mov.u32 %r3, tile;\nst.shared.f32 [%r3], %f1;\nmov.u64 %rd8, tile;\ncvta.shared.u64 %rd8, %rd8;\n"
      "st.f32 [%rd8], %f1;\natom.shared.add.u32 %r4, [%r3], 1;\n",
      ".shared .align 4 .b8 tile[64];\n");
  EXPECT_TRUE(effects.reads.empty());
  EXPECT_TRUE(effects.writes.empty());
  EXPECT_FALSE(effects.updates);
}

TEST(MemoryEffects, NameVariables) {
  const engine::MemoryEffects effects =
      effects_of("mov.u64 %rd8, total;\nst.global.f32 [%rd8], %f1;\n", ".global .align 4 .b8 total[48];\n");
  EXPECT_THAT(effects.writes.variables, ElementsAre("total"));
  ASSERT_EQ(effects.variables.size(), 1u);
  EXPECT_EQ(effects.variables[0].bytes, 48u);
}

TEST(MemoryEffects, NoticeWhatOthersMayObserve) {
  EXPECT_TRUE(effects_of("red.global.add.u32 [%rd7], 1;\n").updates);
  EXPECT_TRUE(effects_of("st.volatile.global.u32 [%rd7], 1;\n").communicates);
  EXPECT_TRUE(effects_of("ld.relaxed.gpu.global.u32 %r3, [%rd6];\n").communicates);
  EXPECT_TRUE(effects_of("membar.sys;\n").communicates);
  EXPECT_FALSE(effects_of("membar.cta;\n").communicates);
  EXPECT_EQ(effects_of("call.uni vprintf, (%rd1, %rd2);\n",
                       ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n")
                .other,
            "it calls 'vprintf'");
  EXPECT_THAT(effects_of("sust.b.1d.b32.trap [%rd1, {%r2}], {%r1};\n").other, HasSubstr("surface"));
}

/// Resolves effects with the values of a launch.
class Repeatable : public testing::Test {
 protected:
  Repeatable() {
    memory_->sorted = {{in_, 4096, 0, {}, device::AllocationKind::device},
                       {out_, 8192, 1, {}, device::AllocationKind::device}};
    device_.memory = memory_;
  }
  Repeatability of(const std::string& body, ReplayChoice choice = ReplayChoice::if_repeatable,
                   const std::string& declarations = {}) {
    void* parameters[] = {&first_, &second_, &n_};
    launch_.parameters = parameters;
    return repeatability_of(effects_of(body, declarations), device_, launch_, choice);
  }

  static constexpr const char* copies = "ld.global.f32 %f1, [%rd6];\nst.global.f32 [%rd7], %f1;\n";
  static constexpr const char* in_place = "ld.global.f32 %f1, [%rd7];\nst.global.f32 [%rd7], %f1;\n";
  const std::uint64_t in_ = std::uint64_t{1} << 40, out_ = in_ + 65536;
  std::uint64_t first_ = in_ + 256, second_ = out_;
  std::uint32_t n_ = 7;
  std::shared_ptr<device::LiveAllocations> memory_ = std::make_shared<device::LiveAllocations>();
  device::Launch launch_;
  FakeDevice device_;
};

TEST_F(Repeatable, KernelsThatWriteOtherMemory) {
  const Repeatability copies_memory = of(copies);
  EXPECT_EQ(copies_memory.obstacle, "");
  EXPECT_THAT(copies_memory.saved, IsEmpty());
  second_ = in_ + 2048;
  EXPECT_EQ(of(copies).obstacle, "it may write what it reads") << "other parts of one allocation";
}

TEST_F(Repeatable, AdjacentMappingsAreOneArray) {
  memory_->sorted[0].kind = memory_->sorted[1].kind = device::AllocationKind::mapped;
  EXPECT_EQ(of(copies).obstacle, "");
  memory_->sorted[0].bytes = out_ - in_;
  EXPECT_EQ(of(copies).obstacle, "it may write what it reads");
}

TEST_F(Repeatable, OthersOnlyWithSavedMemory) {
  EXPECT_EQ(of(in_place).obstacle, "it may write what it reads");
  EXPECT_THAT(of(in_place, ReplayChoice::always).saved, ElementsAre(MemoryRange{out_, 8192}));
  const char* const updates = "red.global.add.u32 [%rd7], 1;\n";
  EXPECT_EQ(of(updates).obstacle, "it updates memory atomically");
  EXPECT_THAT(of(updates, ReplayChoice::always).saved, ElementsAre(MemoryRange{out_, 8192}));
  EXPECT_THAT(of(copies, ReplayChoice::always).saved, IsEmpty());
}

TEST_F(Repeatable, UnknownWritesSaveEverything) {
  const char* const follows = "ld.global.u64 %rd8, [%rd6];\nst.global.f32 [%rd8], %f1;\n";
  EXPECT_EQ(of(follows).obstacle, "it is unknown what it writes");
  EXPECT_THAT(of(follows, ReplayChoice::always, ".global .align 4 .u32 total;\n").saved,
              ElementsAre(MemoryRange{4096, 4}, MemoryRange{in_, 4096}, MemoryRange{out_, 8192}));
  memory_->sorted[0].kind = device::AllocationKind::host;
  EXPECT_EQ(of(follows, ReplayChoice::always).obstacle, "it may write memory that the host can access");
}

TEST_F(Repeatable, PointersOutsideOfAllocationsAreUnknown) {
  second_ = std::uint64_t{1} << 45;
  EXPECT_EQ(of(copies).obstacle, "it is unknown what it writes");
  first_ = second_;
  EXPECT_EQ(of("ld.global.f32 %f1, [%rd6];\n").obstacle, "") << "nothing is written";
}

TEST_F(Repeatable, NeverIfThereAreOtherEffects) {
  launch_.cooperative = true;
  EXPECT_EQ(of(copies, ReplayChoice::always).obstacle, "the launch has attributes");
  launch_.cooperative = false;
  EXPECT_EQ(of("call.uni vprintf, (%rd1, %rd2);\n", ReplayChoice::always,
               ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n")
                .obstacle,
            "it calls 'vprintf'");
}

}  // namespace
}  // namespace lynxpp::interposer
