// Properties of an instruction that handlers before and after it can query: addresses, spaces, values, lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cod/specification.h"
#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;

constexpr Shape one_thread{{1, 1, 1}, {1, 1, 1}};

/// Kernel `k` with registers; %r1 is the index of the thread in its block.
std::string kernel(const std::string& body, const std::string& file_scope = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"src/k.cu\"\n" + file_scope +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .pred %p<4>;\n  .reg .b16 %h<4>;\n  .reg .b32 %r<32>;\n  .reg .b64 %rd<16>;\n  .reg .f32 "
         "%f<8>;\n"
         "  .reg .f64 %d<4>;\n  .shared .align 16 .b8 tile[256];\n  .local .align 16 .b8 stack[32];\n"
         "  mov.u32 %r1, %tid.x;\n  ld.param.u64 %rd1, [in];\n  ld.param.u64 %rd2, [out];\n" +
         body + "  ret;\n}\n";
}
constexpr std::size_t body_begin = 3;  // index of the body's first instruction

/// Values of the body's instructions, in order of their index.
std::vector<double> of_body(const Measured& measured, const std::string& name) {
  const auto found = measured.results.find(name);
  if (found == measured.results.end()) return {};
  return {found->second.begin() + body_begin, found->second.end() - 1};
}

const std::string accesses = kernel(R"(
  ld.global.u32 %r2, [%rd1];
  ld.global.u32 %r3, [%rd1+4];
  ld.global.nc.v4.u32 {%r4, %r5, %r6, %r7}, [%rd1+16];
  ld.volatile.global.u32 %r8, [%rd1];
  ld.global.u8 %h1, [%rd1+8];
  mov.u64 %rd3, tile+24;
  st.shared.u32 [tile], %r2;
  st.shared.v2.u32 [tile+8], {%r3, 7};
  st.volatile.shared.u32 [%rd3+-4], 9;
  ld.shared.u32 %r9, [tile+8];
  mov.u32 %r10, tile;
  ld.shared.u32 %r11, [%r10+20];
  cvta.shared.u64 %rd5, %rd3;
  ld.u32 %r12, [%rd5+-4];
  st.local.f32 [stack+4], 0f3F800000;
  mov.u64 %rd6, stack;
  cvta.local.u64 %rd7, %rd6;
  ld.u32 %r13, [%rd7+4];
  st.u32 [%rd2+4], %r12;
  atom.global.add.u32 %r14, [%rd2+32], 3;
  red.shared.add.u32 [tile+8], 1;
  atom.global.cas.b32 %r15, [%rd2+36], 0, 11;
  ld.const.u32 %r16, [weights+4];
  prefetch.global.L2 [%rd1];
  ld.global.u64 %rd1, [%rd1];
)",
                                    ".const .align 4 .u32 weights[2] = {40, 41};\n");

Measured measure_accesses() {
  return measure_module(R"(
    global unsigned long address[INSTRUCTIONS];
    global unsigned long address_behind[INSTRUCTIONS];
    global unsigned int size[INSTRUCTIONS];
    global unsigned int width[INSTRUCTIONS];
    global unsigned int space[INSTRUCTIONS];
    global unsigned int is_global[INSTRUCTIONS];
    global unsigned long stored[INSTRUCTIONS];
    global unsigned long second[INSTRUCTIONS];
    global unsigned long loaded[INSTRUCTIONS];
    global unsigned long fourth[INSTRUCTIONS];
    ON_INSTRUCTION: MEM_READ: MEM_WRITE: {
      address[instructionId()] = memoryAddress();
      size[instructionId()] = accessSize();
      width[instructionId()] = vectorWidth();
      space[instructionId()] = accessSpace();
      is_global[instructionId()] = accessSpace() == GLOBAL;
      stored[instructionId()] = storedValue();
      second[instructionId()] = storedValue(1);
    }
    ON_INSTRUCTION_AFTER: MEM_READ: MEM_WRITE: {
      address_behind[instructionId()] = memoryAddress();
      loaded[instructionId()] = loadedValue();
      fourth[instructionId()] = loadedValue(3);
    })",
                        one_thread, accesses);
}

TEST(InstructionValues, AddressesOfAllFormsAreComputed) {
  const Measured measured = measure_accesses();
  ASSERT_EQ(measured.failure, "");
  std::vector<double> addresses = of_body(measured, "address");
  EXPECT_EQ(of_body(measured, "address_behind"), addresses) << "the last load overwrites its base";
  ASSERT_EQ(addresses.size(), 25u);
  const double in = addresses[0];
  const double tile = addresses[6];
  EXPECT_EQ(addresses[1], in + 4);
  EXPECT_EQ(addresses[2], in + 16);
  EXPECT_EQ(addresses[3], in);
  EXPECT_EQ(addresses[4], in + 8);
  EXPECT_EQ(addresses[7], tile + 8);
  EXPECT_EQ(addresses[8], tile + 20);
  EXPECT_EQ(addresses[9], tile + 8);
  EXPECT_EQ(addresses[11], tile + 20) << "a base of 32 bits";
  EXPECT_EQ(addresses[19], addresses[18] + 28) << "atom";
  EXPECT_EQ(addresses[20], tile + 8) << "red";
  EXPECT_EQ(addresses[21], addresses[19] + 4) << "cas";
  EXPECT_EQ(addresses[23], 0) << "prefetch accesses nothing";
  EXPECT_EQ(addresses[24], in);
}

TEST(InstructionValues, CopiesReadNoMoreThanTheirSize) {
  const Measured measured = measure_module(R"(
    global unsigned int size[INSTRUCTIONS];
    ON_INSTRUCTION: MEM_READ: GLOBAL: { size[instructionId()] = accessSize(); })",
                                           one_thread, kernel(R"(
  mov.u32 %r10, tile;
  mov.u32 %r2, 12;
  cp.async.cg.shared.global [%r10], [%rd1], 16, %r2;
  cp.async.ca.shared.global [%r10+16], [%rd1+16], 8, %r2;
  cp.async.ca.shared.global [%r10+24], [%rd1+24], 4, %r2;
  cp.async.wait_all;
)"));
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(of_body(measured, "size"), ElementsAre(0, 0, 12, 8, 4, 0));
}

TEST(InstructionValues, SizesWidthsAndSpacesAreKnown) {
  const Measured measured = measure_accesses();
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(of_body(measured, "size"),
              ElementsAre(4, 4, 16, 4, 1, 0, 4, 8, 4, 4, 0, 4, 0, 4, 4, 0, 0, 4, 4, 4, 4, 4, 4, 0, 8));
  EXPECT_THAT(of_body(measured, "width"),
              ElementsAre(1, 1, 4, 1, 1, 0, 1, 2, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1));
  constexpr double g = space_global, s = space_shared, l = space_local, c = space_const;
  EXPECT_THAT(of_body(measured, "space"),
              ElementsAre(g, g, g, g, g, 0, s, s, s, s, 0, s, 0, s, l, 0, 0, l, g, g, s, g, c, 0, g));
  EXPECT_THAT(of_body(measured, "is_global"),
              ElementsAre(1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1));
}

TEST(InstructionValues, StoredAndLoadedValuesAreKnown) {
  const Measured measured = measure_accesses();
  ASSERT_EQ(measured.failure, "");
  constexpr double one = 0x3F800000;
  EXPECT_THAT(of_body(measured, "stored"),
              ElementsAre(0, 0, 0, 0, 0, 0, 5, 5, 9, 0, 0, 0, 0, 0, one, 0, 0, 0, 9, 3, 1, 0, 0, 0, 0));
  EXPECT_THAT(of_body(measured, "second"),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0));
  EXPECT_THAT(of_body(measured, "loaded"), ElementsAre(5, 5, 5, 5, 5, 0, 0, 0, 0, 5, 0, 9, 0, 9, 0, 0, 0, one,
                                                       0, 0, 0, 0, 41, 0, 5 + 5 * 4294967296.0));
  EXPECT_THAT(of_body(measured, "fourth"),
              ElementsAre(0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(InstructionValues, OperandsAreKnownBeforeAndAfter) {
  const std::string module = kernel(R"(
  mov.u32 %r2, 7;
  add.s32 %r2, %r2, -3;
  setp.lt.u32 %p1, %r1, 1;
  selp.b32 %r3, 8, 9, %p1;
  cvt.u16.u32 %h1, %r3;
  add.u16 %h1, %h1, 1;
  mov.f64 %d1, 0d3FF8000000000000;
  add.f64 %d1, %d1, 0.5;
  cvt.rn.f32.s32 %f1, %r2;
  add.f32 %f1, %f1, 1.0;
  mul.wide.s32 %rd3, %r2, -2;
  mad.wide.s32 %rd3, %r2, 1, -1;
  mov.u32 %r4, %ntid.x;
  vote.sync.ballot.b32 %r5, !%p1, 1;
)");
  const Measured measured = measure_module(R"(
    global unsigned long before[INSTRUCTIONS][4];
    global unsigned long after[INSTRUCTIONS][4];
    ON_INSTRUCTION: {
      unsigned i = instructionId();
      before[i][0] = operandValue(); before[i][1] = operandValue(1); before[i][2] = operandValue(2); before[i][3] = operandValue(3);
    }
    ON_INSTRUCTION_AFTER: {
      unsigned i = instructionId();
      after[i][0] = operandValue(0); after[i][1] = operandValue(1); after[i][2] = operandValue(2); after[i][3] = operandValue(3);
    })",
                                           one_thread, module);
  ASSERT_EQ(measured.failure, "");
  const auto row = [&](const char* name, std::size_t index) {
    const std::vector<double>& all = measured.results.at(name);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(4 * (body_begin + index));
    return std::vector<double>(begin, begin + 4);
  };
  constexpr double minus_one = 18446744073709551615.0;
  EXPECT_THAT(row("before", 1), ElementsAre(7, 7, 0xFFFFFFFD, 0));
  EXPECT_THAT(row("after", 1), ElementsAre(4, 7, 0xFFFFFFFD, 0)) << "the result, and the operands";
  EXPECT_THAT(row("after", 2), ElementsAre(1, 0, 1, 0)) << "a predicate";
  EXPECT_THAT(row("after", 3), ElementsAre(8, 8, 9, 1));
  EXPECT_THAT(row("after", 5), ElementsAre(9, 8, 1, 0)) << "16 bits";
  EXPECT_THAT(row("after", 7), ElementsAre(0x4000000000000000, 0x3FF8000000000000, 0x3FE0000000000000, 0));
  EXPECT_THAT(row("after", 9), ElementsAre(0x40A00000, 0x40800000, 0x3F800000, 0));
  EXPECT_THAT(row("after", 10), ElementsAre(minus_one - 7, 4, 0xFFFFFFFE, 0)) << "a wide result";
  EXPECT_THAT(row("after", 11), ElementsAre(3, 4, 1, minus_one));
  EXPECT_THAT(row("after", 12), ElementsAre(1, 1, 0, 0)) << "a special register";
  EXPECT_THAT(row("after", 13), ElementsAre(0, 0, 1, 0)) << "a negated predicate";
}

// As wide as the instruction's operands, also in memory instructions.
TEST(InstructionValues, NegativeOperandsAreSignExtended) {
  const std::string module = kernel(R"(
  st.global.s16 [%rd2], -2;
  st.global.u8 [%rd2+8], -3;
  red.global.max.s32 [%rd2+16], -5;
  atom.global.add.u64 %rd3, [%rd2+24], -7;
  add.s32 %r2, %r1, -7;
)");
  const Measured measured = measure_module(R"(
    global unsigned long second[INSTRUCTIONS];
    global unsigned long third[INSTRUCTIONS];
    ON_INSTRUCTION: {
      second[instructionId()] = operandValue(1);
      third[instructionId()] = operandValue(2);
    })",
                                           one_thread, module);
  ASSERT_EQ(measured.failure, "");
  const std::vector<double> second = of_body(measured, "second");
  ASSERT_EQ(second.size(), 5u);
  EXPECT_EQ(second[0], 0xFFFE);
  EXPECT_EQ(second[1], 0xFD);
  EXPECT_EQ(second[2], 0xFFFFFFFB);
  const std::vector<double> third = of_body(measured, "third");
  EXPECT_EQ(third[3], 18446744073709551609.0);
  EXPECT_EQ(third[4], 0xFFFFFFF9);
}

// Computed at the entry of the kernel and of the function for sites in loops.
TEST(InstructionValues, ThreadAndWarpIndicesAreKnownInLoops) {
  const std::string module =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".func f(.param .b64 p)\n{\n  .reg .pred %p<2>;\n  .reg .b32 %r<3>;\n  .reg .b64 %rd<2>;\n  "
      "ld.param.b64 %rd1, [p];\n"
      "  mov.u32 %r1, 0;\nL: st.global.u32 [%rd1], %r1;\n  add.u32 %r1, %r1, 1;\n  setp.lt.u32 %p1, %r1, "
      "2;\n  @%p1 bra L;\n  "
      "ret;\n}\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n  .reg .pred %p<3>;\n  .reg .b32 %r<3>;\n  "
      ".reg .b64 %rd<3>;\n"
      "  ld.param.u64 %rd1, [out];\n  mov.u32 %r1, 0;\n  mov.u32 %r2, %tid.x;\n  setp.gt.u32 %p2, %r2, 20;\n"
      "L: st.global.u32 [%rd1], %r1;\n  add.u32 %r1, %r1, 1;\n  setp.lt.u32 %p1, %r1, 3;\n  @%p1 bra L;\n  "
      "@%p2 bra X;\n"
      "  { .param .b64 a; st.param.b64 [a], %rd1; call f, (a); }\nX: ret;\n}\n";
  constexpr Shape shape{{3, 2, 1}, {40, 3, 1}};
  const Measured measured = measure_module(R"(
    global unsigned long number[THREADS];
    global unsigned long latest[WARPS];
    ON_INSTRUCTION: MEM_WRITE: GLOBAL: {
      number[globalThreadId()] = globalThreadId() * 5 + warpId() * 1000 + 1;
      atomicMax(&latest[warpId()], blockId() * 7 + laneId());
    })",
                                           shape, module);
  ASSERT_EQ(measured.failure, "");
  const std::vector<double>& number = measured.results.at("number");
  ASSERT_EQ(number.size(), 720u);
  for (std::size_t thread = 0; thread < number.size(); ++thread) {
    const std::size_t warp = thread / 120 * 4 + thread % 120 / 32;
    EXPECT_EQ(number[thread], static_cast<double>(thread * 5 + warp * 1000 + 1)) << thread;
  }
  const std::vector<double>& latest = measured.results.at("latest");
  ASSERT_EQ(latest.size(), 24u);
  for (std::size_t warp = 0; warp < latest.size(); ++warp)
    EXPECT_EQ(latest[warp], static_cast<double>(warp / 4 * 7 + (warp % 4 == 3 ? 23 : 31))) << warp;
}

TEST(InstructionValues, AreCorrectAfterAnInstructionThatOverwritesItsGuard) {
  const std::string module = kernel(R"(
  setp.lt.u32 %p1, %r1, 3;
  @%p1 setp.ge.u32 %p1|%p2, %r1, 100;
  @!%p1 add.u32 %r2, %r1, 1;
)");
  const Measured measured = measure_module(R"(
    global unsigned int before[INSTRUCTIONS];
    global unsigned int after[INSTRUCTIONS];
    global unsigned int ballots;
    ON_INSTRUCTION: PREDICATED: { atomicAdd(&before[instructionId()], getPredicateValue()); }
    ON_INSTRUCTION_AFTER: PREDICATED: {
      atomicAdd(&after[instructionId()], getPredicateValue());
      unsigned int b = ballot(1);
      if (instructionIs(ARITHMETIC)) atomicMax(&ballots, b);
    })",
                                           Shape{{1, 1, 1}, {5, 1, 1}}, module);
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(of_body(measured, "before"), ElementsAre(0, 3, 5));
  EXPECT_THAT(of_body(measured, "after"), ElementsAre(0, 3, 5));
  EXPECT_EQ(measured["ballots"], 31);
}

TEST(InstructionValues, LabelsAndLinesAreKnown) {
  const std::string module = kernel(R"(
  .loc 1 20 3
  ld.global.u32 %r2, [%rd1];
  .loc 1 21 3
  @%p1 st.shared.u32 [tile], %r2;
  fma.rn.f32 %f1, %f2, %f2, %f2;
)");
  const Measured measured = measure_module(R"(
    global unsigned int bits[INSTRUCTIONS];
    global unsigned int lines[INSTRUCTIONS];
    global unsigned int ptx_lines[INSTRUCTIONS];
    global unsigned int here_and_there[INSTRUCTIONS];
    ON_INSTRUCTION: MEM_READ: MEM_WRITE: ARITHMETIC: {
      unsigned int i = instructionId();
      bits[i] = instructionIs(MEM_READ, GLOBAL) + 2 * instructionIs(MEM_WRITE) + 4 * instructionIs(FLOATING_POINT)
              + 8 * instructionIs(MEM_READ, MEM_WRITE, SHARED);
      lines[i] = sourceLine();
      ptx_lines[i] = ptxLine();
    }
    ON_REPORT: {
      for (unsigned int i = 0; i < INSTRUCTIONS; ++i)
        here_and_there[i] = lines[i] == 0 || lines[i] == sourceLine(i);
      emit("bits", bits); emit("lines", lines); emit("ptx_lines", ptx_lines); emit("agree", min(here_and_there));
    })",
                                           one_thread, module);
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(of_body(measured, "bits"), ElementsAre(1, 0, 4)) << "the guard of the store does not hold";
  EXPECT_THAT(of_body(measured, "lines"), ElementsAre(20, 0, 21));
  EXPECT_EQ(of_body(measured, "ptx_lines").at(2), of_body(measured, "ptx_lines").at(0) + 3);
  EXPECT_EQ(measured["agree"], 1);
}

TEST(InstructionValues, CallTargetsAreKnown) {
  const std::string functions =
      ".func _Z5firsti(.param .b32 n)\n{\n  ret;\n}\n.func (.param .b32 r) second(.param .b32 n)\n{\n"
      "  st.param.b32 [r], 3;\n  ret;\n}\n";
  const std::string module = kernel(R"(
  {
  .param .b32 a;
  st.param.b32 [a], 1;
  call _Z5firsti, (a);
  }
  {
  .param .b32 a;
  .param .b32 r;
  st.param.b32 [a], 1;
  call (r), second, (a);
  ld.param.b32 %r2, [r];
  }
  add.s32 %r2, %r2, 1;
)",
                                    functions);
  const Measured measured = measure_module(R"cod(
    global unsigned int firsts; global unsigned int seconds; global unsigned int others; global unsigned int after;
    ON_INSTRUCTION: CALL_TARGET("first\\(int\\)"): { atomicAdd(&firsts, 1); }
    ON_INSTRUCTION: CALL_TARGET("^sec"): CALL_TARGET("third"): { atomicAdd(&seconds, 1); }
    ON_INSTRUCTION: CALL: CALL_TARGET("^nothing$"): { atomicAdd(&others, 1); }
    ON_INSTRUCTION_AFTER: CALL: { atomicAdd(&after, 1); })cod",
                                           Shape{{2, 1, 1}, {33, 1, 1}}, module);
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["firsts"], 66);
  EXPECT_EQ(measured["seconds"], 66);
  EXPECT_EQ(measured["others"], 0);
  EXPECT_EQ(measured["after"], 132);
}

}  // namespace
}  // namespace lynxpp::cod
