// Checked launches of PTX, and the shadow state that they keep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cpu/simt/check/access_shadow.h"
#include "device/cpu/simt/check/written_memory.h"
#include "tests/device_simt/kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::HasSubstr;

TEST(WrittenMemoryTest, TracksWrittenBytesOfAnAllocation) {
  WrittenMemory memory;
  EXPECT_FALSE(memory.is_unwritten(1000, 4)) << "untracked memory counts as written";
  memory.enter(1000, 100);
  EXPECT_TRUE(memory.is_unwritten(1000, 100));
  memory.write(1003, 70);
  EXPECT_TRUE(memory.is_unwritten(1000, 3));
  EXPECT_FALSE(memory.is_unwritten(1000, 4)) << "part of it is written";
  for (std::uint64_t address = 1003; address < 1073; ++address) EXPECT_FALSE(memory.is_unwritten(address, 1));
  EXPECT_TRUE(memory.is_unwritten(1073, 27));
  memory.leave(1000);
  memory.enter(1000, 100);
  EXPECT_TRUE(memory.is_unwritten(1003, 1)) << "a new allocation at the same address is unwritten";
}

TEST(WrittenMemoryTest, CopiesInheritTheStateOfTheirSource) {
  WrittenMemory memory;
  memory.enter(1000, 16);
  memory.enter(2000, 16);
  memory.write(1004, 4);
  memory.write(2000, 16);
  memory.copy(2000, 1000, 16);
  EXPECT_TRUE(memory.is_unwritten(2000, 4));
  EXPECT_FALSE(memory.is_unwritten(2004, 1));
  EXPECT_FALSE(memory.is_unwritten(2007, 1));
  EXPECT_TRUE(memory.is_unwritten(2008, 8));
  memory.copy(2000, 5000, 16);
  EXPECT_FALSE(memory.is_unwritten(2000, 1)) << "copied from untracked host memory";
  EXPECT_FALSE(memory.is_unwritten(2015, 1));
}

AccessMark mark_of(std::uint32_t block, std::uint32_t warp, const WarpClock& clock,
                   Reach reach = Reach::none) {
  AccessMark mark;
  mark.time = clock.now();
  mark.block = block;
  mark.warp = warp & 31;
  mark.bytes = 0xf;
  mark.reach = static_cast<std::uint32_t>(reach) & 3;
  return mark;
}

Conflict note(WordMarks& word, const AccessMark& mark, bool reads, bool writes, const WarpClock& clock) {
  const AsyncOperations none;
  return note_access(word, mark, reads, writes, {clock, none, {}});
}

/// True if a read by the second warp of a block races with the write.
bool races(const AccessMark& written, const WarpClock& reader, std::uint32_t reader_block) {
  WordMarks word;
  word.write = written;
  return note(word, mark_of(reader_block, 1, reader), true, false, reader).earlier.time != 0;
}

TEST(HappensBeforeTest, AFencePublishesOnlyEarlierAccesses) {
  WarpClock writer(0, 0, 2);
  WarpClock reader(5, 1, 2);
  SyncVariables variables;
  const AccessMark before = mark_of(0, 0, writer);
  writer.fence(Reach::device);
  const AccessMark behind = mark_of(0, 0, writer);
  variables.publish(64, 0, writer, Reach::device);
  EXPECT_TRUE(races(before, reader, 5));
  variables.hear(64, 5, reader, Reach::device);
  EXPECT_TRUE(races(before, reader, 5)) << "the reader has no fence yet";
  reader.fence(Reach::device);
  EXPECT_FALSE(races(before, reader, 5));
  EXPECT_TRUE(races(behind, reader, 5));
}

TEST(HappensBeforeTest, ABlockFenceDoesNotOrderOtherBlocks) {
  for (const std::uint32_t block : {0u, 5u}) {
    WarpClock writer(0, 0, 2);
    WarpClock reader(block, 1, 2);
    SyncVariables variables;
    const AccessMark before = mark_of(0, 0, writer);
    writer.fence(Reach::block);
    variables.publish(64, 0, writer, Reach::device);
    variables.hear(64, block, reader, Reach::device);
    reader.fence(Reach::device);
    EXPECT_EQ(races(before, reader, block), block != 0);
  }
}

TEST(HappensBeforeTest, ABlockAcquireHearsNoOtherBlock) {
  for (const std::uint32_t block : {0u, 5u}) {
    WarpClock writer(0, 0, 2);
    WarpClock reader(block, 1, 2);
    SyncVariables variables;
    const AccessMark before = mark_of(0, 0, writer);
    writer.fence(Reach::device);
    variables.publish(64, 0, writer, Reach::device);
    variables.hear(64, block, reader, Reach::block);
    reader.fence(Reach::device);
    EXPECT_EQ(races(before, reader, block), block != 0);
  }
}

TEST(AccessShadowTest, AtomicsRaceOutsideTheirScopes) {
  for (const Reach reach : {Reach::block, Reach::device}) {
    const WarpClock first(0, 0, 1);
    const WarpClock second(1, 0, 1);
    WordMarks word;
    note(word, mark_of(0, 0, first, reach), true, true, first);
    const Conflict found = note(word, mark_of(1, 0, second, reach), true, true, second);
    EXPECT_EQ(found.earlier.time != 0, reach == Reach::block);
  }
}

TEST(AccessShadowTest, WritesOfSeveralBytesOfAWordAreAllRemembered) {
  for (const std::uint32_t read : {1u, 2u, 4u}) {
    const WarpClock writer(0, 0, 2);
    const WarpClock reader(0, 1, 2);
    WordMarks word;
    for (const std::uint32_t written : {1u, 2u}) {
      AccessMark mark = mark_of(0, 0, writer);
      mark.bytes = written & 0xf;
      note(word, mark, false, true, writer);
    }
    AccessMark mark = mark_of(0, 1, reader);
    mark.bytes = read & 0xf;
    EXPECT_EQ(note(word, mark, true, false, reader).earlier.time != 0, read != 4) << read;
  }
}

TEST(AccessShadowTest, AtomicsRaceWithPlainAccesses) {
  for (const Reach reach : {Reach::block, Reach::device}) {
    const WarpClock first(0, 0, 2);
    const WarpClock second(0, 1, 2);
    WordMarks word;
    note(word, mark_of(0, 0, first, reach), true, true, first);
    const Conflict found = note(word, mark_of(0, 1, second), true, false, second);
    EXPECT_NE(found.earlier.time, 0u);
  }
}

constexpr const char* exchange = R"(
.visible .entry exchange(.param .u64 out) {
  .reg .u32 %r<8>;
  .reg .u64 %a<4>;
  .shared .align 4 .b8 tile[256];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r1, 2;
  add.u32 %r4, %r2, %r3;
  st.shared.u32 [%r4], %r1;
  BARRIER
  sub.u32 %r5, %r2, %r3;
  ld.shared.u32 %r6, [%r5+252];
  ld.param.u64 %a1, [out];
  mul.wide.u32 %a2, %r1, 4;
  add.u64 %a3, %a1, %a2;
  st.global.u32 [%a3], %r6;
  ret;
}
)";

std::vector<Finding> findings_of(std::string text, const std::string& barrier, std::vector<int>& out,
                                 CheckSelection selection = {.memory = true, .race = true, .sync = true}) {
  text.replace(text.find("BARRIER"), 7, barrier);
  const auto module = load(text);
  LaunchChecks checks{selection};
  const Status status = module->launch("exchange", {{1, 1, 1}, {64, 1, 1}}, Arguments(out.data()).bytes(),
                                       nullptr, nullptr, &checks);
  EXPECT_EQ(text_of(status), "");
  return checks.findings;
}

TEST(CheckedLaunchTest, ReportsOnlyMissingBarriers) {
  std::vector<int> out(64, -1);
  EXPECT_TRUE(findings_of(exchange, "bar.sync 0;", out, {true, true, true, true}).empty());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 63 - i);
  const std::vector<Finding> found = findings_of(exchange, "", out);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].kind, FindingKind::race);
  ASSERT_TRUE(found[0].other.has_value());
  // Either warp may come first.
  const std::set<std::string> opcodes{found[0].place.opcode, found[0].other->opcode};
  EXPECT_EQ(opcodes, (std::set<std::string>{"ld.shared.u32", "st.shared.u32"}));
  EXPECT_THAT(found[0].place.action, HasSubstr("shared array 'tile'"));
  const std::vector<Finding> unwritten = findings_of(exchange, "", out, {.init = true});
  ASSERT_EQ(unwritten.size(), 1u) << "checks that are not selected do not run";
  EXPECT_EQ(unwritten[0].kind, FindingKind::uninitialized_read);
  EXPECT_EQ(unwritten[0].count, 32u) << "only the first warp reads unwritten memory";
}

TEST(CheckedLaunchTest, AtomicsOfBlocksRaceIfTheirScopeIsTheBlock) {
  for (const std::string scope : {"cta", "gpu"}) {
    const auto module = load(
        ".visible .entry add(.param .u64 out) {\n.reg .u64 %a<2>;\nld.param.u64 %a1, [out];\n"
        "red.relaxed." +
        scope + ".global.add.u32 [%a1], 1;\nret;\n}\n");
    std::uint32_t sum = 0;
    LaunchChecks checks{{.race = true}};
    ASSERT_EQ(text_of(module->launch("add", {{2, 1, 1}, {1, 1, 1}}, Arguments(&sum).bytes(), nullptr, nullptr,
                                     &checks)),
              "");
    EXPECT_EQ(sum, 2u);
    EXPECT_EQ(checks.findings.size(), scope == "cta" ? 1u : 0u) << scope;
  }
}

TEST(CheckedLaunchTest, WarpsMayWriteTheSameValue) {
  for (const std::string value : {"7", "%tid.x"}) {
    const auto module = load(
        ".visible .entry set(.param .u64 out) {\n.reg .u64 %a<2>;\n.reg .u32 %r<2>;\n"
        "ld.param.u64 %a1, [out];\nmov.u32 %r1, " +
        value +
        ";\nand.b32 %r1, %r1, 32;\n"
        "st.global.u32 [%a1], %r1;\nret;\n}\n");
    std::uint32_t written = 0;
    LaunchChecks checks{{.race = true}};
    ASSERT_EQ(text_of(module->launch("set", {{1, 1, 1}, {64, 1, 1}}, Arguments(&written).bytes(), nullptr,
                                     nullptr, &checks)),
              "");
    EXPECT_EQ(checks.findings.empty(), value == "7") << value;
  }
}

TEST(CheckedLaunchTest, FindsAccessesAcrossTheEndOfASharedArray) {
  for (const std::string offset : {"0", "8"}) {
    const auto module = load(
        ".visible .entry touch(.param .u64 out) {\n.reg .u64 %a<2>;\n"
        ".shared .align 8 .b8 tile[12];\n.shared .align 4 .b8 next[4];\n"
        "mov.u64 %a1, 0;\nst.shared.u64 [tile+" +
        offset +
        "], %a1;\n"
        "st.shared.u32 [next], 1;\nret;\n}\n");
    LaunchChecks checks{{.memory = true}};
    std::uint32_t unused = 0;
    static_cast<void>(module->launch("touch", {{1, 1, 1}, {1, 1, 1}}, Arguments(&unused).bytes(), nullptr,
                                     nullptr, &checks));
    ASSERT_EQ(checks.findings.size(), offset == "8" ? 1u : 0u) << offset;
    for (const Finding& each : checks.findings) EXPECT_EQ(each.kind, FindingKind::out_of_bounds);
  }
}

TEST(CheckedLaunchTest, SkipsIllegalAccessesAndFailsAtTheEnd) {
  const auto module = load(R"(
.visible .entry touch(.param .u64 out) {
  .reg .u32 %r<4>;
  .reg .u64 %a<4>;
  .shared .align 4 .b8 tile[128];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 7;
  ld.global.u32 %r2, [4];
  ld.param.u64 %a1, [out];
  mul.wide.u32 %a2, %r1, 4;
  add.u64 %a3, %a1, %a2;
  st.global.u32 [%a3], %r2;
  st.shared.u32 [4000], %r1;
  ret;
}
)");
  std::vector<int> out(32, -1);
  LaunchChecks checks{{.memory = true}};
  const Status status = module->launch("touch", {{1, 1, 1}, {32, 1, 1}}, Arguments(out.data()).bytes(),
                                       nullptr, nullptr, &checks);
  EXPECT_THAT(text_of(status), HasSubstr("illegal address"));
  EXPECT_EQ(out, std::vector<int>(32, 0)) << "an illegal load yields 0, and the kernel continues";
  ASSERT_EQ(checks.findings.size(), 2u);
  for (const Finding& each : checks.findings) {
    EXPECT_EQ(each.kind, FindingKind::out_of_bounds);
    // A load by all lanes from one address counts as one access.
    EXPECT_EQ(each.count, each.place.opcode.starts_with("ld.") ? 1u : 32u) << each.place.opcode;
  }
}

/// Lanes 0 to 15 shuffle twice and store what KEEP selects; others exit.
std::vector<Finding> shuffles_of(const std::string& keep, const std::string& amount = "8, 31",
                                 std::vector<std::uint32_t> seeds = {1}, const std::string& rest = "") {
  const auto module = load(R"(
.visible .entry shuffle(.param .u64 out) {
  .reg .u32 %r<8>;
  .reg .u64 %a<8>;
  .reg .pred %p<8>;
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 16;
  @%p1 exit;
  shfl.sync.down.b32 %r2|%p2, %r1, )" +
                           amount +
                           R"(, 0xffff;
  shfl.sync.down.b32 %r3|%p3, %r1, 9, 31, 0xffff;
  ld.param.u64 %a1, [out];
  mul.wide.u32 %a2, %r1, 8;
  add.u64 %a3, %a1, %a2;
)" + keep + rest + "\nret;\n}\n");
  std::vector<std::uint32_t> out(64, 7);
  LaunchChecks checks{.selection = {.sync = true}, .seeds = std::move(seeds)};
  EXPECT_EQ(text_of(module->launch("shuffle", {{1, 1, 1}, {32, 1, 1}}, Arguments(out.data()).bytes(), nullptr,
                                   nullptr, &checks)),
            "");
  return checks.findings;
}

constexpr const char* store_first = "st.global.u32 [%a3], %r2;\n";
constexpr const char* store_second = "st.global.u32 [%a3+4], %r3;\n";

TEST(CheckedLaunchTest, ShufflesFromInactiveLanesAreReportedIfResultsDependOnThem) {
  EXPECT_TRUE(shuffles_of("").empty());
  EXPECT_TRUE(shuffles_of("setp.gt.u32 %p4, %r1, 7;\n@%p4 exit;\n" + std::string(store_first)).empty());
  const std::vector<Finding> first = shuffles_of(store_first);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].kind, FindingKind::inactive_source);
  EXPECT_EQ(first[0].count, 8u) << "lanes 8 to 15";
  EXPECT_EQ(first[0].place.thread[0], 8u);
  EXPECT_THAT(first[0].detail, HasSubstr("lane 8 reads lane 16, which has exited"));
  const std::vector<Finding> second = shuffles_of(store_second);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].place.line, first[0].place.line + 1);
  EXPECT_EQ(shuffles_of(std::string(store_first) + store_second).size(), 2u);
  EXPECT_TRUE(shuffles_of(store_first, "8, 15").empty()) << "sources past lane 15 are out of range";
  EXPECT_EQ(shuffles_of(store_first, "8, 31", {1, 2, 3}).size(), 1u);
}

TEST(CheckedLaunchTest, ShufflesWhoseUseCannotBeJudgedAreNotReported) {
  EXPECT_TRUE(
      shuffles_of(store_first, "8, 31", {1}, "mov.u64 %a4, %clock64;\nst.global.u64 [%a3], %a4;").empty())
      << "results differ in each run";
}

TEST(CheckedLaunchTest, FindingsHaveTheirCallers) {
  const auto module = load(R"(
.func store(.reg .u64 to, .reg .u32 depth) {
  .reg .pred %p<2>;
  .reg .u32 %r<2>;
  setp.eq.u32 %p1, depth, 0;
  @%p1 bra last;
  sub.u32 %r1, depth, 1;
  call store, (to, %r1);
  ret;
last:
  .loc 1 5 1, function_name $L__name, inlined_at 1 8 1
  st.shared.u32 [to], 1;
  ret;
}
.visible .entry work(.param .u64 out, .param .u32 depth) {
  .reg .u64 %a<2>;
  .reg .u32 %r<2>;
  mov.u64 %a1, 4096;
  ld.param.u32 %r1, [depth];
  .loc 1 20 1
  call store, (%a1, %r1);
  ret;
}
.file 1 "a.cu"
.section .debug_str { $L__name: .b8 105,110,0 }
)");
  for (const std::uint32_t depth : {0u, 2u, 40u}) {
    std::uint32_t unused = 0;
    LaunchChecks checks{{.memory = true}};
    static_cast<void>(module->launch("work", {{1, 1, 1}, {1, 1, 1}}, Arguments(&unused, depth).bytes(),
                                     nullptr, nullptr, &checks));
    ASSERT_EQ(checks.findings.size(), 1u);
    const DeviceStack& stack = checks.findings[0].place.stack;
    const std::size_t all = depth + 3;
    ASSERT_EQ(stack.frames.size(), std::min<std::size_t>(all, 16));
    EXPECT_EQ(stack.omitted, all - stack.frames.size());
    EXPECT_EQ(stack.frames[0].function, "in");
    EXPECT_EQ(stack.frames[0].source_line, 5u);
    EXPECT_EQ(stack.frames[1].function, "store");
    EXPECT_EQ(stack.frames[1].source_line, 8u);
    if (depth != 0) {
      EXPECT_EQ(stack.frames[2].source_file, "") << "a call without line information";
      EXPECT_NE(stack.frames[2].line, 0u);
    }
    EXPECT_EQ(stack.frames.back().function, "work");
    EXPECT_EQ(stack.frames.back().source_line, 20u);
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
