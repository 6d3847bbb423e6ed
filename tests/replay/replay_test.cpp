#include "ptx/replay/replay.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ptx/replay/word_counts.h"
#include "tests/ptx/parse.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t base = 0x7f0000001000;

struct Kernel {
  explicit Kernel(const std::string& body)
      : module(
            module_of(".visible .entry k(.param .u64 A, .param .u32 n, .param .u32 m)\n{\n.reg .pred %p<9>;\n"
                      ".reg .b16 %h<9>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .f32 %f<9>;\n"
                      ".shared .align 4 .b8 tile[4096];\n" +
                      body + "\n}\n")) {
    const Status parsed = parse_all_bodies(module, "test.ptx");
    EXPECT_TRUE(parsed) << (parsed ? "" : render(parsed.error().diagnostics, module.source()));
    FunctionAnalyses analyses(module.functions[0]);
    program = make_replay_program(module, analyses, false);
  }

  /// Counts of words from `A` on, and behind them those of `tile`.
  std::vector<std::uint64_t> counts(const ReplayLaunch& shape, std::uint32_t n, std::uint32_t m,
                                    std::uint64_t words) {
    ReplayLaunch launch = shape;
    std::byte parameters[16];
    std::memcpy(parameters, &base, 8);
    std::memcpy(parameters + 8, &n, 4);
    std::memcpy(parameters + 12, &m, 4);
    launch.parameters = parameters;
    launch.variables.assign(program.variables.size(), 512);
    WordCounts device(base, 4 * words), shared(512, 4096);
    boxes = 0;
    const Status status = replay(program, launch, [&](const ReplayedAccess& access) {
      ++boxes;
      (shared.holds(access) ? shared : device).add(access);
    });
    EXPECT_TRUE(status) << (status ? "" : render(status.error().diagnostics));
    tile = shared.finish();
    return device.finish();
  }

  std::size_t predictable() const {
    return static_cast<std::size_t>(
        std::count(program.is_predictable.begin(), program.is_predictable.end(), true));
  }

  Module module;
  ReplayProgram program;
  std::vector<std::uint64_t> tile;
  std::size_t boxes = 0;
};

const std::string index_and_base =
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "ld.param.u64 %rd1, [A];\ncvta.to.global.u64 %rd2, %rd1;\nld.param.u32 %r5, [n];\nld.param.u32 %r6, "
    "[m];\n";

TEST(Replay, BoundsCheck) {
  Kernel kernel(
      index_and_base +
      "setp.ge.s32 %p1, %r4, %r5;\n@%p1 bra done;\nmul.wide.s32 %rd3, %r4, 4;\n"
      "add.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\nst.global.f32 [%rd4], %f1;\ndone:\nret;");
  EXPECT_EQ(kernel.predictable(), 2u);
  std::vector<std::uint64_t> expected(1024, 0);
  for (std::size_t i = 0; i < 1000; ++i) expected[i] = 2;
  EXPECT_EQ(kernel.counts({{4, 1, 1}, {256, 1, 1}, {}, {}}, 1000, 0, 1024), expected);
  EXPECT_LE(kernel.boxes, 6u) << "threads are not looked at one by one";
}

TEST(Replay, LoopsRunWithTheirRealCounters) {
  // for (i = tid; i < n; i += ntid) A[i]++, with 8-byte accesses at every m-th iteration's place
  Kernel kernel(index_and_base +
                "mov.u32 %r7, %r4;\nsetp.ge.u32 %p1, %r7, %r5;\n@%p1 bra done;\ntop:\n"
                "mul.wide.u32 %rd3, %r7, 8;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.u64 [%rd4], %rd3;\n"
                "add.s32 %r7, %r7, %r6;\nsetp.lt.u32 %p2, %r7, %r5;\n@%p2 bra top;\ndone:\nret;");
  EXPECT_EQ(kernel.predictable(), 1u);
  std::vector<std::uint64_t> expected(2048, 0);
  for (std::size_t i = 0; i < 2000; ++i) expected[i] = 1;
  EXPECT_EQ(kernel.counts({{2, 1, 1}, {32, 1, 1}, {}, {}}, 1000, 64, 2048), expected);
}

TEST(Replay, TriangularLoopsAndGuards) {
  // for (k = 0; k <= tid; ++k) { if (k is odd) tile[k] }: counts fall with k
  Kernel kernel(index_and_base +
                "mov.u32 %r7, 0;\nmov.u32 %r8, tile;\ntop:\nand.b32 %r9, %r7, 1;\nsetp.eq.s32 %p1, %r9, 1;\n"
                "shl.b32 %r10, %r7, 2;\nadd.s32 %r11, %r8, %r10;\n@%p1 ld.shared.u32 %r12, [%r11];\n"
                "add.s32 %r7, %r7, 1;\nsetp.le.s32 %p2, %r7, %r3;\n@%p2 bra top;\nret;");
  kernel.counts({{3, 1, 1}, {64, 1, 1}, {}, {}}, 0, 0, 1);
  for (std::size_t k = 0; k < 64; ++k) EXPECT_EQ(kernel.tile[k], k % 2 == 1 ? 3 * (64 - k) : 0) << k;
}

TEST(Replay, RowsAndColumnsByDivision) {
  // row = i / m, column = i % m; A[column * 8 + row % 8]
  Kernel kernel(
      index_and_base +
      "div.u32 %r7, %r4, %r6;\nrem.u32 %r8, %r4, %r6;\nand.b32 %r9, %r7, 7;\nshl.b32 %r10, %r8, 3;\n"
      "or.b32 %r11, %r10, %r9;\nmul.wide.u32 %rd3, %r11, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
      "ld.global.f32 %f1, [%rd4+4];\nret;");
  // The remainder differs between threads and so does the row: bits that meet nowhere.
  EXPECT_EQ(kernel.predictable(), 0u) << "an `or` of two numbers that differ would be looked at one by one";
  Kernel sum(index_and_base +
             "div.u32 %r7, %r4, %r6;\nrem.u32 %r8, %r4, %r6;\nand.b32 %r9, %r7, 7;\nshl.b32 %r10, %r8, 3;\n"
             "add.u32 %r11, %r10, %r9;\nmul.wide.u32 %rd3, %r11, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
             "ld.global.f32 %f1, [%rd4+4];\nret;");
  EXPECT_EQ(sum.predictable(), 1u);
  std::vector<std::uint64_t> expected(8 * 50 + 2, 0);
  for (std::size_t i = 0; i < 4 * 256; ++i) ++expected[i % 50 * 8 + i / 50 % 8 + 1];
  EXPECT_EQ(sum.counts({{4, 1, 1}, {256, 1, 1}, {}, {}}, 0, 50, 8 * 50 + 2), expected);
}

TEST(Replay, UnsignedNumbersWrap) {
  // A[(i - m) as unsigned 16 bits / 8]
  Kernel kernel(
      index_and_base +
      "sub.s32 %r7, %r4, %r6;\ncvt.u16.u32 %h1, %r7;\nshr.u16 %h2, %h1, 3;\nmul.wide.u16 %r8, %h2, 4;\n"
      "cvt.u64.u32 %rd3, %r8;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\nret;");
  std::vector<std::uint64_t> expected(8192, 0);
  for (std::size_t i = 0; i < 256; ++i) ++expected[static_cast<std::uint16_t>(i - 100) / 8];
  EXPECT_EQ(kernel.counts({{2, 1, 1}, {128, 1, 1}, {}, {}}, 0, 100, 8192), expected);
}

TEST(Replay, WhatMemoryDecidesIsLeftOut) {
  // before the branch: predictable; inside: not; behind it: again, but not what was written inside
  Kernel kernel(index_and_base +
                "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.u32 %r7, [%rd4];\n"
                "mov.u64 %rd5, %rd4;\nmov.u32 %r9, 0;\nsetp.eq.s32 %p1, %r7, 0;\n@%p1 bra skip;\n"
                "st.global.u32 [%rd4], %r7;\nadd.s64 %rd5, %rd4, 4;\nskip:\n"
                "st.global.u32 [%rd4+8], %r7;\nst.global.u32 [%rd5], %r7;\nret;");
  const Body& body = *kernel.module.functions[0].body;
  std::vector<bool> predicted;
  for (std::uint32_t at = 0; at < body.instructions.size(); ++at) {
    if (body.instructions[at].opcode.find(".global.u32") != std::string_view::npos)
      predicted.push_back(kernel.program.predicts(at, 0));
  }
  EXPECT_EQ(predicted, (std::vector<bool>{true, false, true, false}));
  std::vector<std::uint64_t> expected(34, 2);
  expected[0] = expected[1] = expected[32] = expected[33] = 1;
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {32, 1, 1}, {}, {}}, 0, 0, 34), expected);
}

TEST(Replay, LoopsThatMemoryEndsAreLeftOutAndWhatFollowsIsNot) {
  Kernel kernel(index_and_base +
                "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\nmov.u32 %r8, 0;\ntop:\n"
                "ld.global.u32 %r7, [%rd4];\nadd.s32 %r8, %r8, 1;\nsetp.ne.s32 %p1, %r7, 0;\n@%p1 bra top;\n"
                "st.global.u32 [%rd4], %r8;\nret;");
  EXPECT_EQ(kernel.predictable(), 1u) << "the load runs we know not how often";
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {32, 1, 1}, {}, {}}, 0, 0, 32), std::vector<std::uint64_t>(32, 1));
}

TEST(Replay, AnExitThatMemoryDecidesHidesAllBehindIt) {
  Kernel kernel(
      index_and_base +
      "ld.global.u32 %r7, [%rd2];\nsetp.ne.s32 %p1, %r7, 0;\n@%p1 ret;\nst.global.u32 [%rd2+4], %r8;\nret;");
  EXPECT_EQ(kernel.predictable(), 1u);
}

TEST(Replay, EndsWhenItTakesTooLong) {
  Kernel kernel(index_and_base +
                "mov.u32 %r7, 0;\ntop:\nst.global.u32 [%rd2], %r7;\nadd.s32 %r7, %r7, 1;\n"
                "setp.lt.u32 %p1, %r7, %r5;\n@%p1 bra top;\nret;");
  std::byte parameters[16] = {};
  std::memset(parameters + 8, 0xff, 4);
  ReplayLaunch launch;
  launch.parameters = parameters;
  const Status status = replay(kernel.program, launch, [](const ReplayedAccess&) {}, {1000});
  ASSERT_FALSE(status);
  EXPECT_NE(render(status.error().diagnostics).find("more than 1000 operations"), std::string::npos);
}

}  // namespace
}  // namespace lynxpp::ptx
