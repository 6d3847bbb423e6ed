#include "ptx/replay/replay.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

#include "ptx/replay/program_builder.h"
#include "ptx/replay/word_counts.h"
#include "tests/ptx/parse.h"
#include "tests/replay/all_words.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t base = 0x7f0000001000;

struct Kernel {
  /// `before` contains functions.
  explicit Kernel(const std::string& body, const std::string& before = "")
      : module(module_of(
            before +
            "\n.visible .entry k(.param .u64 A, .param .u32 n, .param .u32 m)\n{\n.reg .pred %p<9>;\n"
            ".reg .b16 %h<9>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .f32 %f<9>;\n"
            ".shared .align 4 .b8 tile[4096];\n" +
            body + "\n}\n")) {
    const Status parsed = parse_all_bodies(module, "test.ptx");
    EXPECT_TRUE(parsed) << (parsed ? "" : render(parsed.error().diagnostics, module.source()));
    // The kernel is last: callees precede their callers.
    std::vector<std::unique_ptr<FunctionAnalyses>> analyses;
    ReplayedFunctions functions{module, {}, {}, true, false};
    for (auto each = module.functions.rbegin(); each != module.functions.rend(); ++each) {
      analyses.push_back(std::make_unique<FunctionAnalyses>(*each));
      functions.functions.push_back(analyses.back().get());
    }
    functions.callee = [&](const Instruction& call) -> std::optional<std::uint32_t> {
      for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
        for (const Operand& each : call.operands) {
          if (each.name == module.functions[i].name)
            return static_cast<std::uint32_t>(module.functions.size() - 1 - i);
        }
      }
      return std::nullopt;
    };
    program = make_replay_program(functions);
  }

  /// Counts of words from `A` on, followed by those of `tile`.
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
      (access.is_shared ? shared : device).add(access);
    });
    EXPECT_TRUE(status) << (status ? "" : render(status.error().diagnostics));
    tile = all_words(shared, 1024);
    return all_words(device, words);
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

TEST(Replay, ChecksBounds) {
  Kernel kernel(
      index_and_base +
      "setp.ge.s32 %p1, %r4, %r5;\n@%p1 bra done;\nmul.wide.s32 %rd3, %r4, 4;\n"
      "add.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\nst.global.f32 [%rd4], %f1;\ndone:\nret;");
  EXPECT_EQ(kernel.predictable(), 2u);
  std::vector<std::uint64_t> expected(1024, 0);
  for (std::size_t i = 0; i < 1000; ++i) expected[i] = 2;
  EXPECT_EQ(kernel.counts({{4, 1, 1}, {256, 1, 1}, {}, {}}, 1000, 0, 1024), expected);
  EXPECT_LE(kernel.boxes, 6u) << "threads are not processed one by one";
}

TEST(Replay, LoopsRunWithTheirActualCounters) {
  // for (i = tid; i < n; i += ntid) A[i]++, with 8-byte accesses at the location of every m-th iteration
  Kernel kernel(index_and_base +
                "mov.u32 %r7, %r4;\nsetp.ge.u32 %p1, %r7, %r5;\n@%p1 bra done;\ntop:\n"
                "mul.wide.u32 %rd3, %r7, 8;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.u64 [%rd4], %rd3;\n"
                "add.s32 %r7, %r7, %r6;\nsetp.lt.u32 %p2, %r7, %r5;\n@%p2 bra top;\ndone:\nret;");
  EXPECT_EQ(kernel.predictable(), 1u);
  std::vector<std::uint64_t> expected(2048, 0);
  for (std::size_t i = 0; i < 2000; ++i) expected[i] = 1;
  EXPECT_EQ(kernel.counts({{2, 1, 1}, {32, 1, 1}, {}, {}}, 1000, 64, 2048), expected);
}

TEST(Replay, HandlesTriangularLoopsAndGuards) {
  // for (k = 0; k <= tid; ++k) { if (k is odd) tile[k] }: counts fall with k
  Kernel kernel(index_and_base +
                "mov.u32 %r7, 0;\nmov.u32 %r8, tile;\ntop:\nand.b32 %r9, %r7, 1;\nsetp.eq.s32 %p1, %r9, 1;\n"
                "shl.b32 %r10, %r7, 2;\nadd.s32 %r11, %r8, %r10;\n@%p1 ld.shared.u32 %r12, [%r11];\n"
                "add.s32 %r7, %r7, 1;\nsetp.le.s32 %p2, %r7, %r3;\n@%p2 bra top;\nret;");
  kernel.counts({{3, 1, 1}, {64, 1, 1}, {}, {}}, 0, 0, 1);
  for (std::size_t k = 0; k < 64; ++k) EXPECT_EQ(kernel.tile[k], k % 2 == 1 ? 3 * (64 - k) : 0) << k;
}

TEST(Replay, DerivesRowsAndColumnsByDivision) {
  // row = i / m, column = i % m; A[column * 8 + row % 8]
  Kernel kernel(
      index_and_base +
      "div.u32 %r7, %r4, %r6;\nrem.u32 %r8, %r4, %r6;\nand.b32 %r9, %r7, 7;\nshl.b32 %r10, %r8, 3;\n"
      "or.b32 %r11, %r10, %r9;\nmul.wide.u32 %rd3, %r11, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
      "ld.global.f32 %f1, [%rd4+4];\nret;");
  // The remainder and the row both differ between threads: an `or` of disjoint bits.
  EXPECT_EQ(kernel.predictable(), 0u) << "an `or` of two varying values would be processed thread by thread";
  Kernel sum(index_and_base +
             "div.u32 %r7, %r4, %r6;\nrem.u32 %r8, %r4, %r6;\nand.b32 %r9, %r7, 7;\nshl.b32 %r10, %r8, 3;\n"
             "add.u32 %r11, %r10, %r9;\nmul.wide.u32 %rd3, %r11, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
             "ld.global.f32 %f1, [%rd4+4];\nret;");
  EXPECT_EQ(sum.predictable(), 1u);
  std::vector<std::uint64_t> expected(8 * 50 + 2, 0);
  for (std::size_t i = 0; i < 4 * 256; ++i) ++expected[i % 50 * 8 + i / 50 % 8 + 1];
  EXPECT_EQ(sum.counts({{4, 1, 1}, {256, 1, 1}, {}, {}}, 0, 50, 8 * 50 + 2), expected);
}

TEST(Replay, UnsignedValuesWrapAround) {
  // A[(i - m) as unsigned 16 bits / 8]
  Kernel kernel(
      index_and_base +
      "sub.s32 %r7, %r4, %r6;\ncvt.u16.u32 %h1, %r7;\nshr.u16 %h2, %h1, 3;\nmul.wide.u16 %r8, %h2, 4;\n"
      "cvt.u64.u32 %rd3, %r8;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\nret;");
  std::vector<std::uint64_t> expected(8192, 0);
  for (std::size_t i = 0; i < 256; ++i) ++expected[static_cast<std::uint16_t>(i - 100) / 8];
  EXPECT_EQ(kernel.counts({{2, 1, 1}, {128, 1, 1}, {}, {}}, 0, 100, 8192), expected);
}

TEST(Replay, FieldsAndUpperHalvesOfProductsAreKnown) {
  // A[(i >> 2 & 15) * 16 + field], where field is bits 4 to 6 as a signed number plus 4
  Kernel fields(index_and_base +
                "bfe.u32 %r7, %r4, 2, 4;\nbfe.s32 %r8, %r4, 4, 3;\nmad.lo.s32 %r9, %r7, 16, %r8;\n"
                "mul.wide.s32 %rd3, %r9, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4+16];\nret;");
  EXPECT_EQ(fields.predictable(), 1u);
  std::vector<std::uint64_t> expected(256, 0);
  for (std::uint32_t i = 0; i < 512; ++i) {
    const auto signed_field = static_cast<std::int32_t>(i << 25) >> 29;
    ++expected[(i >> 2 & 15) * 16 + static_cast<std::uint32_t>(signed_field + 4)];
  }
  EXPECT_EQ(fields.counts({{2, 1, 1}, {256, 1, 1}, {}, {}}, 0, 0, 256), expected);
  // A[i / 3] as compilers write it
  Kernel third(index_and_base +
               "mul.hi.u32 %r7, %r4, -1431655765;\nshr.u32 %r8, %r7, 1;\nmul.wide.u32 %rd3, %r8, 4;\n"
               "add.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\nret;");
  EXPECT_EQ(third.predictable(), 1u);
  std::vector<std::uint64_t> thirds(100, 0);
  for (std::size_t i = 0; i < 256; ++i) ++thirds[i / 3];
  EXPECT_EQ(third.counts({{2, 1, 1}, {128, 1, 1}, {}, {}}, 0, 0, 100), thirds);
  // A[-i / 3 + 100], rounded down
  Kernel negative(index_and_base +
                  "neg.s32 %r7, %r4;\nmul.hi.s32 %r8, %r7, 1431655766;\nmul.wide.s32 %rd3, %r8, 4;\n"
                  "add.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4+400];\nret;");
  std::vector<std::uint64_t> below(101, 0);
  for (std::int64_t i = 0; i < 256; ++i) ++below[static_cast<std::size_t>(((-i * 1431655766) >> 32) + 100)];
  EXPECT_EQ(negative.counts({{2, 1, 1}, {128, 1, 1}, {}, {}}, 0, 0, 101), below);
}

/// A random sequence of operations on bits, as text and as a function of the thread.
class BitProgram {
 public:
  explicit BitProgram(std::mt19937& random) : random_(random) {
    for (std::uint32_t to = 12; to < 12 + 8; ++to) add(to);
    const std::uint32_t last = 12 + 7;
    text_ += "and.b32 %r30, %r" + std::to_string(last) +
             ", 255;\nmul.wide.u32 %rd3, %r30, 4;\n"
             "add.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\nret;";
    steps_.push_back([](Registers& r) { r[30] = r[last] & 255; });
  }
  const std::string& text() const { return text_; }
  std::uint32_t word(std::uint32_t thread, std::uint32_t block) const {
    Registers registers{};
    registers[10] = thread;
    registers[11] = block;
    for (const auto& each : steps_) each(registers);
    return registers[30];
  }

 private:
  using Registers = std::array<std::uint32_t, 31>;

  std::uint32_t pick(std::uint32_t least, std::uint32_t greatest) {
    return std::uniform_int_distribution<std::uint32_t>(least, greatest)(random_);
  }

  void add(std::uint32_t to) {
    const std::uint32_t a = pick(0, 2) == 0 ? 10 : pick(10, to - 1), b = pick(10, to - 1);
    const std::uint32_t amount = pick(0, 9), size = pick(1, 6), mask = pick(1, 1023);
    const auto op = [&](const std::string& name, const std::string& rest) {
      text_ += name + " %r" + std::to_string(to) + ", %r" + std::to_string(a) + ", " + rest + ";\n";
    };
    const std::string other = "%r" + std::to_string(b);
    const auto number = [](std::uint32_t each) { return std::to_string(each); };
    switch (pick(0, 9)) {
      case 0: op("and.b32", number(mask)); return step([=](Registers& r) { r[to] = r[a] & mask; });
      case 1: op("xor.b32", number(mask)); return step([=](Registers& r) { r[to] = r[a] ^ mask; });
      case 2: op("or.b32", other); return step([=](Registers& r) { r[to] = r[a] | r[b]; });
      case 3: op("xor.b32", other); return step([=](Registers& r) { r[to] = r[a] ^ r[b]; });
      case 4: op("shl.b32", number(amount)); return step([=](Registers& r) { r[to] = r[a] << amount; });
      case 5: op("shr.u32", number(amount)); return step([=](Registers& r) { r[to] = r[a] >> amount; });
      case 6: op("add.s32", other); return step([=](Registers& r) { r[to] = r[a] + r[b]; });
      case 7: op("and.b32", other); return step([=](Registers& r) { r[to] = r[a] & r[b]; });
      case 8: op("mul.lo.s32", number(size)); return step([=](Registers& r) { r[to] = r[a] * size; });
      default:
        op("bfe.u32", number(amount) + ", " + number(size));
        return step([=](Registers& r) { r[to] = r[a] >> amount & ((1u << size) - 1); });
    }
  }
  void step(std::function<void(Registers&)> each) { steps_.push_back(std::move(each)); }

  std::mt19937& random_;
  std::string text_ = "mov.u32 %r10, %tid.x;\nmov.u32 %r11, %ctaid.x;\n";
  std::vector<std::function<void(Registers&)>> steps_;
};

TEST(Replay, RandomOperationsOnBitsMatchEveryThread) {
  std::mt19937 random(11);
  int known = 0, in_bits = 0;
  for (int round = 0; round < 400; ++round) {
    const BitProgram program(random);
    Kernel kernel(index_and_base + program.text());
    if (kernel.predictable() == 0) continue;
    ++known;
    in_bits += kernel.program.splits_bits ? 1 : 0;
    const std::uint32_t threads = round % 3 == 0 ? 96 : round % 3 == 1 ? 128 : 50;
    std::vector<std::uint64_t> expected(256, 0);
    for (std::uint32_t block = 0; block < 5; ++block) {
      for (std::uint32_t thread = 0; thread < threads; ++thread) ++expected[program.word(thread, block)];
    }
    ASSERT_EQ(kernel.counts({{5, 1, 1}, {threads, 1, 1}, {}, {}}, 0, 0, 256), expected) << program.text();
  }
  EXPECT_GT(known, 150);
  EXPECT_GT(in_bits, 150);
}

TEST(Replay, LayoutsOfBitsTakeFewBoxes) {
  // As in Triton's matrix product: row = tid >> 2 & 63 | ctaid << 7, column = (tid & 3) << 3, and a swizzle
  Kernel kernel(index_and_base +
                "mov.u32 %r10, %tid.x;\nmov.u32 %r11, %ctaid.x;\nbfe.u32 %r12, %r10, 2, 6;\n"
                "shl.b32 %r13, %r11, 6;\nor.b32 %r14, %r12, %r13;\nand.b32 %r15, %r10, 3;\n"
                "shl.b32 %r16, %r15, 2;\nmad.lo.s32 %r17, %r14, 16, %r16;\nmul.wide.u32 %rd3, %r17, 4;\n"
                "add.s64 %rd4, %rd2, %rd3;\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];\n"
                "and.b32 %r18, %r10, 24;\nshr.u32 %r19, %r18, 3;\nxor.b32 %r20, %r15, %r19;\n"
                "and.b32 %r21, %r10, 252;\nor.b32 %r22, %r20, %r21;\nshl.b32 %r23, %r22, 2;\n"
                "mov.u32 %r24, tile;\nadd.s32 %r25, %r24, %r23;\nst.shared.f32 [%r25], %f1;\nret;");
  EXPECT_EQ(kernel.predictable(), 2u);
  const std::vector<std::uint64_t> once(16 * 64 * 100, 1);
  EXPECT_EQ(kernel.counts({{100, 1, 1}, {256, 1, 1}, {}, {}}, 0, 0, once.size()), once);
  for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(kernel.tile[i], i < 256 ? 100u : 0u) << i;
  EXPECT_EQ(kernel.boxes, 5u) << "one for the load, four for the swizzle of two bits";
}

TEST(Replay, CopiesOfAKnownSizeAreKnown) {
  // Threads below n copy 16 bytes, others none; then all but thread m ignore the source.
  Kernel kernel(index_and_base +
                "mov.u32 %r7, tile;\nmul.wide.u32 %rd3, %r4, 16;\nadd.s64 %rd4, %rd2, %rd3;\n"
                "setp.lt.u32 %p1, %r4, %r5;\nselp.b32 %r8, 16, 0, %p1;\n"
                "cp.async.cg.shared.global [%r7], [%rd4], 16, %r8;\n"
                "setp.ne.u32 %p2, %r4, %r6;\n"
                "cp.async.cg.shared.global [%r7], [%rd4+1024], 16, %p2;\n"
                "sub.s32 %r9, %r5, %r4;\nshl.b32 %r10, %r9, 2;\nmax.s32 %r11, %r10, 0;\n"
                "cp.async.ca.shared.global [%r7], [%rd4+2048], 16, %r11;\nret;");
  std::vector<std::uint64_t> expected(768, 0);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t word = 0; word < 4; ++word) {
      if (i < 50) ++expected[4 * i + word];
      if (i == 7) ++expected[4 * i + word + 256];
      if (i < 50 && word < 50 - i) ++expected[4 * i + word + 512];
    }
  }
  EXPECT_EQ(kernel.counts({{2, 1, 1}, {32, 1, 1}, {}, {}}, 50, 7, 768), expected);
  EXPECT_EQ(kernel.predictable(), 6u) << "sources and destinations";
}

TEST(Replay, MemoryDependentAccessesAreOmitted) {
  // before the branch: predictable; inside: not; after it: predictable again, except for registers written
  // inside
  Kernel kernel(index_and_base +
                "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.u32 %r7, [%rd4];\n"
                "mov.u64 %rd5, %rd4;\nmov.u32 %r9, 0;\nsetp.eq.s32 %p1, %r7, 0;\n@%p1 bra skip;\n"
                "st.global.u32 [%rd4], %r7;\nadd.s64 %rd5, %rd4, 4;\nskip:\n"
                "st.global.u32 [%rd4+8], %r7;\nst.global.u32 [%rd5], %r7;\nret;");
  const Body& body = *kernel.module.functions[0].body;
  std::vector<bool> predicted;
  for (std::uint32_t at = 0; at < body.instructions.size(); ++at) {
    if (body.instructions[at].opcode.find(".global.u32") != std::string_view::npos)
      predicted.push_back(kernel.program.predicts(0, at, 0));
  }
  EXPECT_EQ(predicted, (std::vector<bool>{true, false, true, false}));
  std::vector<std::uint64_t> expected(34, 2);
  expected[0] = expected[1] = expected[32] = expected[33] = 1;
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {32, 1, 1}, {}, {}}, 0, 0, 34), expected);
}

TEST(Replay, MemoryDependentLoopsAreSkippedOver) {
  Kernel kernel(index_and_base +
                "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\nmov.u32 %r8, 0;\ntop:\n"
                "ld.global.u32 %r7, [%rd4];\nadd.s32 %r8, %r8, 1;\nsetp.ne.s32 %p1, %r7, 0;\n@%p1 bra top;\n"
                "st.global.u32 [%rd4], %r8;\nret;");
  EXPECT_EQ(kernel.predictable(), 1u) << "the number of executions of the load is unknown";
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {32, 1, 1}, {}, {}}, 0, 0, 32), std::vector<std::uint64_t>(32, 1));
}

TEST(Replay, MemoryDependentExitHidesLaterAccesses) {
  Kernel kernel(
      index_and_base +
      "ld.global.u32 %r7, [%rd2];\nsetp.ne.s32 %p1, %r7, 0;\n@%p1 ret;\nst.global.u32 [%rd2+4], %r8;\nret;");
  EXPECT_EQ(kernel.predictable(), 1u);
}

TEST(Replay, HandlesLanesOfThreeDimensionalBlocks) {
  Kernel kernel(index_and_base +
                "mov.u32 %r7, %laneid;\nmul.wide.u32 %rd3, %r7, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
                "st.global.u32 [%rd4], %r7;\nret;");
  EXPECT_EQ(kernel.predictable(), 1u);
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {4, 6, 4}, {}, {}}, 0, 0, 32), std::vector<std::uint64_t>(32, 3));
}

TEST(Replay, SecondPredicateOfAComparisonIsItsNegation) {
  Kernel kernel(index_and_base +
                "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\nsetp.lt.u32 %p1|%p2, %r4, %r5;\n"
                "@%p1 st.global.u32 [%rd4], %r4;\n@%p2 st.global.u32 [%rd4+4], %r4;\nret;");
  EXPECT_EQ(kernel.predictable(), 2u);
  std::vector<std::uint64_t> expected(33, 1);
  expected[20] = 0;
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {32, 1, 1}, {}, {}}, 20, 0, 33), expected);
}

TEST(Replay, NarrowParametersAreSignExtended) {
  Kernel kernel(index_and_base +
                "ld.param.s16 %r7, [n];\nld.param.u16 %r8, [m];\nmul.wide.s32 %rd3, %r7, 4;\n"
                "mul.wide.s32 %rd4, %r8, 4;\nadd.s64 %rd5, %rd2, %rd3;\nadd.s64 %rd6, %rd2, %rd4;\n"
                "st.global.u32 [%rd5+40], %r7;\nst.global.u32 [%rd6], %r8;\nret;");
  EXPECT_EQ(kernel.predictable(), 2u);
  std::vector<std::uint64_t> expected(0x10000, 0);
  expected[7] = expected[0xfffe] = 1;
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {1, 1, 1}, {}, {}}, 0xfffd, 0xfffe, 0x10000), expected);
}

TEST(Replay, UnknownGuardMakesTheValueUnknown) {
  Kernel kernel(index_and_base +
                "mov.u32 %r7, 0;\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 mov.u32 %r7, 4;\n"
                "mul.wide.u32 %rd3, %r7, 4;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], %r7;\nret;");
  EXPECT_EQ(kernel.predictable(), 1u);
  std::byte without_m[12] = {};
  ReplayLaunch launch;
  launch.parameters = without_m;
  const Status status = replay(kernel.program, launch, [](const ReplayedAccess&) { ADD_FAILURE(); });
  ASSERT_FALSE(status);
  EXPECT_NE(render(status.error().diagnostics).find("a value that replay cannot compute"), std::string::npos);
}

TEST(Replay, EndsAtTheOperationLimit) {
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

// void touch(unsigned *at, unsigned n): at[0] to at[n - 1], through a generic address
const std::string touch =
    ".func (.param .b64 past) touch(.param .b64 at, .param .b32 n)\n{\n.reg .pred %p<3>;\n"
    ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [at];\nld.param.u32 %r1, [n];\n"
    "setp.eq.s32 %p1, %r1, 0;\n@%p1 bra done;\ntop:\nld.u32 %r2, [%rd1];\nadd.s64 %rd1, %rd1, 4;\n"
    "add.s32 %r1, %r1, -1;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra top;\ndone:\n"
    "st.param.b64 [past], %rd1;\nret;\n}\n";

std::string call_touch(const std::string& at, const std::string& n, const std::string& result) {
  return "{\n.param .b64 a;\n.param .b32 b;\n.param .b64 c;\nst.param.b64 [a+0], " + at +
         ";\nst.param.b32 [b+0], " + n + ";\ncall.uni (c), touch, (a, b);\nld.param.b64 " + result +
         ", [c+0];\n}\n";
}

std::vector<bool> predicted_generic(const Kernel& kernel, std::size_t function) {
  std::vector<bool> predicted;
  const Body& body = *kernel.module.functions[kernel.module.functions.size() - 1 - function].body;
  for (std::uint32_t at = 0; at < body.instructions.size(); ++at) {
    if (body.instructions[at].opcode.starts_with("ld.u32"))
      predicted.push_back(kernel.program.predicts(static_cast<std::uint32_t>(function), at, 0));
  }
  return predicted;
}

TEST(Replay, FollowsCallsWithArgumentsAndResults) {
  // touch(A, tid), and again with its result, which continues after it
  Kernel kernel(index_and_base + call_touch("%rd1", "%r3", "%rd7") + call_touch("%rd7", "2", "%rd8") +
                    "st.global.u32 [%rd8+4], %r3;\nret;",
                touch);
  EXPECT_EQ(predicted_generic(kernel, 1), std::vector<bool>{true});
  std::vector<std::uint64_t> expected(64, 0);
  for (std::size_t thread = 0; thread < 32; ++thread) {
    for (std::size_t i = 0; i < thread + 2; ++i) ++expected[i];
    ++expected[thread + 3];
  }
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {32, 1, 1}, {}, {}}, 0, 0, 64), expected);
  EXPECT_EQ(kernel.tile, std::vector<std::uint64_t>(1024, 0));
}

TEST(Replay, GenericAddressesOfSharedMemoryStayShared) {
  const std::string pointer = "mov.u64 %rd3, tile;\ncvta.shared.u64 %rd4, %rd3;\nadd.s64 %rd5, %rd4, 8;\n";
  Kernel kernel(
      index_and_base + pointer + call_touch("%rd5", "%r5", "%rd7") + call_touch("%rd1", "1", "%rd8") +
          "cvta.to.shared.u64 %rd9, %rd7;\nst.shared.u32 [%rd9+4], %r3;\n"
          "sub.s64 %rd10, %rd7, %rd4;\nadd.s64 %rd11, %rd2, %rd10;\nst.global.u32 [%rd11], %r3;\nret;",
      touch);
  EXPECT_EQ(predicted_generic(kernel, 1), std::vector<bool>{true});
  std::vector<std::uint64_t> expected(32, 0);
  expected[0] = 64;
  expected[2 + 5] += 64;  // at the distance from A that the call reached in tile
  EXPECT_EQ(kernel.counts({{2, 1, 1}, {32, 1, 1}, {}, {}}, 5, 0, 32), expected);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(kernel.tile[i], (i >= 2 && i < 7) || i == 8 ? 64u : 0u) << i;
}

TEST(Replay, ValuesThatDependOnTheSharedWindowAreOmitted) {
  Kernel kernel(index_and_base +
                "mov.u64 %rd3, tile;\ncvta.shared.u64 %rd4, %rd3;\ncvt.u32.u64 %r7, %rd4;\n"
                "mul.wide.u32 %rd5, %r7, 4;\nadd.s64 %rd6, %rd2, %rd5;\nst.global.u32 [%rd6], %r3;\n"
                "setp.gt.s64 %p1, %rd4, %rd2;\n@%p1 st.global.u32 [%rd2], %r3;\n"
                "add.s64 %rd7, %rd4, %rd4;\nst.u32 [%rd7], %r3;\nld.u32 %r8, [%rd4];\nret;");
  EXPECT_EQ(predicted_generic(kernel, 0), std::vector<bool>{true});
  EXPECT_EQ(kernel.predictable(), 1u);
}

TEST(Replay, OneCallThatIsNotFollowedOmitsTheFunction) {
  // The second length is in memory.
  Kernel kernel(index_and_base + call_touch("%rd1", "4", "%rd7") + "ld.global.u32 %r9, [%rd2];\n" +
                    call_touch("%rd1", "%r9", "%rd8") +
                    "st.global.u32 [%rd7], %r3;\nst.global.u32 [%rd8], %r3;\nret;",
                touch);
  EXPECT_EQ(predicted_generic(kernel, 1), std::vector<bool>{false});
  std::vector<std::uint64_t> expected(8, 0);
  expected[0] = expected[4] = 1;  // for the kernel's own access, the result of the first call is known
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {1, 1, 1}, {}, {}}, 0, 0, 8), expected);
}

TEST(Replay, DoesNotFollowRecursion) {
  const std::string again =
      ".func touch(.param .b64 at, .param .b32 n)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n"
      ".reg .b64 %rd<9>;\nld.param.u64 %rd1, [at];\nld.param.u32 %r1, [n];\nld.u32 %r2, [%rd1];\n"
      "setp.eq.s32 %p1, %r1, 0;\n@%p1 ret;\nadd.s32 %r3, %r1, -1;\n{\n.param .b64 a;\n.param .b32 b;\n"
      "st.param.b64 [a], %rd1;\nst.param.b32 [b], %r3;\ncall.uni touch, (a, b);\n}\nret;\n}\n";
  Kernel kernel(index_and_base +
                    "{\n.param .b64 a;\n.param .b32 b;\nst.param.b64 [a], %rd1;\nst.param.b32 [b], 3;\n"
                    "call.uni touch, (a, b);\n}\nst.global.u32 [%rd2], %r3;\nret;",
                again);
  EXPECT_EQ(predicted_generic(kernel, 1), std::vector<bool>{false});
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {1, 1, 1}, {}, {}}, 0, 0, 1), std::vector<std::uint64_t>{1});
}

TEST(Replay, PartsOfAnArgumentAreKnownOnlyAsStored) {
  const std::string pair =
      ".func pair(.param .align 8 .b8 at[16])\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
      "ld.param.u64 %rd1, [at];\nld.param.v2.b32 {%r1, %r2}, [at+8];\nld.u32 %r3, [%rd1];\n"
      "mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.u32 %r4, [%rd3];\n"
      "mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd1, %rd4;\nld.u32 %r5, [%rd5];\nret;\n}\n";
  Kernel kernel(index_and_base +
                    "{\n.param .align 8 .b8 a[16];\nst.param.b64 [a], %rd1;\nst.param.b32 [a+12], %r3;\n"
                    "mov.u16 %h1, 7;\nst.param.b16 [a+8], %h1;\ncall.uni pair, (a);\n}\nret;",
                pair);
  EXPECT_EQ(predicted_generic(kernel, 1), (std::vector<bool>{true, true, false}));
  std::vector<std::uint64_t> expected(4, 1);
  expected[0] = 5;
  EXPECT_EQ(kernel.counts({{1, 1, 1}, {4, 1, 1}, {}, {}}, 0, 0, 4), expected);
}

}  // namespace
}  // namespace lynxpp::ptx
