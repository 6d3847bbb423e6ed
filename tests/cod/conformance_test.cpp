// One specification for each construct, with a result known in closed form, on the cpu device.
#include "tests/cod/conformance_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/text.h"
#include "tests/support/readable_name.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint32_t block_sizes[] = {1, 31, 32, 33, 96, 1024};

Shape line(std::uint32_t threads, std::uint32_t blocks = 3) { return {{blocks, 1, 1}, {threads, 1, 1}}; }

std::string example(const std::string& name) {
  std::string source;
  EXPECT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/" + name + ".cod", source));
  return source;
}

/// Runs `code` in the only thread; the result is the value of its variable `r`.
Measured in_one_thread(const std::string& file_scope, const std::string& code) {
  return measure(file_scope + "\nglobal long result;\nON_KERNEL_EXIT: { long r = 0; " + code +
                     " result = r; }\nON_REPORT: { emit(\"r\", result); }",
                 line(1, 1));
}

struct Construct {
  const char* file_scope;
  const char* code;
  double expected;
};

class Language : public testing::TestWithParam<Construct> {};

TEST_P(Language, ComputesWhatCComputes) {
  const Measured measured = in_one_thread(GetParam().file_scope, GetParam().code);
  ASSERT_EQ(measured.failure, "") << GetParam().code;
  EXPECT_EQ(measured["r"], GetParam().expected) << GetParam().file_scope << "\n" << GetParam().code;
  EXPECT_EQ(measured.dropped, 0u) << GetParam().code;
}

/// The same code in ON_REPORT.
TEST_P(Language, ComputesTheSameInTheReport) {
  const std::string source = std::string(GetParam().file_scope) + "\nON_REPORT: { long r = 0; " +
                             GetParam().code + " emit(\"r\", r); }";
  const Measured measured = measure(source, line(1, 1));
  ASSERT_EQ(measured.failure, "") << GetParam().code;
  EXPECT_EQ(measured["r"], GetParam().expected) << GetParam().file_scope << "\n" << GetParam().code;
}

const Construct constructs[] = {
    {"",
     "for (int i = 0; i < 6; ++i) { switch (i) { case 0: r += 1; break; case 1: case 2: r += 10; default: r "
     "+= 100; } }",
     1 + 2 * 110 + 3 * 100},
    {"", "switch (7) { case 1: r = 1; } switch (2u) { default: r += 5; break; case 2: r += 3; }", 3},
    {"", "for (int i = 0; i < 5; ++i) { switch (i) { case 3: continue; } r += i; }", 0 + 1 + 2 + 4},
    {"", "switch (1) { case 0: ; int never = 9; r = never; break; case 1: r = 4; }", 4},
    {"static int kind(long v) { switch (v) { case -1: return 7; case 1L << 40: return 8; } return 9; }",
     "r = kind(-1) * 100 + kind(1099511627776) * 10 + kind(0);", 789},
    {"enum shape { ROUND, SQUARE = 5, FLAT, LAST = FLAT * 2 };",
     "r = ROUND + 10 * SQUARE + 100 * FLAT + 1000 * LAST;", 12650},
    {"enum { N = 3 }; const int t[N] = {4, 5, 6};", "enum { LOCAL = N - 1 }; r = t[LOCAL] + sizeof t;", 18},
    {"typedef unsigned char byte; typedef byte octet;", "octet b = 300; r = b + sizeof(byte) * 1000;", 1044},
    {"struct pair { char tag; long sum; short h[3]; };",
     "struct pair p = {1, 2, {3, 4}}, q; q = p; q.h[2] = 9; r = p.tag + 10 * q.sum + 100 * q.h[1] + 1000 * "
     "q.h[2] + 10000 * "
     "p.h[2];",
     1 + 20 + 400 + 9000},
    {"struct pair { char tag; long sum; short h[3]; };",
     "r = sizeof(struct pair); struct pair a[4]; r += 100 * sizeof a;", 24 + 100 * 96},
    {"typedef struct { int x; struct { int y[2]; } in; } deep;",
     "deep d[2] = {{1, {{2, 3}}}, 4, 5, 6}; int i = 1; r = d[0].x + 10 * d[0].in.y[1] + 100 * d[i].x + 1000 "
     "* d[i].in.y[i];",
     1 + 30 + 400 + 6000},
    {"",
     "int h[8] = {1, 2, 3}; for (int i = 0; i < 8; ++i) h[7 - i] += i; for (int i = 0; i < 8; ++i) r = r * "
     "10 + h[i];",
     88843210},
    {"",
     "int m[2][3] = {{1, 2, 3}, {4, 5, 6}}; int n[][2] = {{1, 2}, {3, 4}}; for (int i = 0; i < 2; ++i) r += "
     "m[i][2] * "
     "n[i][0];",
     3 + 18},
    {"", "for (int k = 0; k < 3; ++k) { int a[2]; a[k & 1] += 1; r += a[0] + a[1]; }", 3},
    {"", "int a = (r = 3, r + 4), b; for (b = 0, a += 1; b < 2; ++b, r += 10) ; r += a;", 23 + 8},
    {"",
     "double d[2] = {1.5, 2.5}; float f[1] = {0.25f}; bool b[2] = {1, 5}; r = d[0] * 4 + d[1] * 4 + f[0] * 4 "
     "+ b[1];",
     18},
    {"const long t[2][2] = {{1, -2}, {3, 4}}; const double w[] = {0.5, 1.25};",
     "for (int i = 0; i < 2; ++i) r += t[i][1 - i] * 10 + w[i] * 4;", (-2 + 3) * 10 + 2 + 5},
    {"struct e { int key; long value; }; const struct e table[3] = {{7, 70}, {8, 80}, {9, 90}};",
     "for (int i = 0; i < 3; ++i) if (table[i].key == 8) r = table[i].value;", 80},
};

INSTANTIATE_TEST_SUITE_P(Each, Language, testing::ValuesIn(constructs),
                         [](const auto& each) { return numbered_name(each.index, each.param.code); });

class BlockSize : public testing::TestWithParam<std::uint32_t> {
 protected:
  Shape shape() const { return line(GetParam()); }
  double threads() const { return 3.0 * GetParam(); }
  double warps() const { return 3.0 * static_cast<double>(shape().warps()); }
};

TEST_P(BlockSize, SupportsStructuresInGlobalArrays) {
  const Measured measured = measure(
      "struct visit { unsigned int lane; unsigned long sum[2]; };\n"
      "global struct visit visits[THREADS];\nstruct { int calls; double weight; } mine;\n"
      "ON_BASIC_BLOCK_ENTRY: { ++mine.calls; mine.weight += 0.5; }\n"
      "ON_KERNEL_EXIT: { struct visit v = {laneId()}; v.sum[1] = blockThreadId(); visits[globalThreadId()] = "
      "v;\n"
      "  visits[globalThreadId()].sum[0] += mine.calls + (long)(mine.weight * 2); }\n"
      "ON_REPORT: { emit(\"lanes\", max(visits.lane)); emit(\"sums\", sum(visits.sum)); emit(\"all\", "
      "visits.sum);\n"
      "  emit(\"first\", visits[0].sum[0]); }",
      shape());
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["lanes"], std::min(GetParam(), 32u) - 1);
  EXPECT_EQ(measured["first"], 2);
  EXPECT_EQ(measured["sums"], 2 * threads() + 3.0 * GetParam() * (GetParam() - 1.0) / 2);
  EXPECT_EQ(measured.results.at("all").size(), 2 * static_cast<std::size_t>(threads()));
}

TEST_P(BlockSize, KeepsSharedArraysPerBlock) {
  const Measured measured = measure(
      "shared unsigned long sums[WARPS_PER_BLOCK];\nshared unsigned int highest;\nglobal unsigned long "
      "result[WARPS];\n"
      "global unsigned long top[BLOCKS];\n"
      "ON_KERNEL_ENTRY: { if (blockThreadId() < 32) sums[blockThreadId()] = 0; highest = 0; syncThreads(); "
      "}\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: { atomicAdd(&sums[blockThreadId() / 32], laneId()); "
      "atomicMax(&highest, "
      "blockThreadId()); }\n"
      "ON_KERNEL_EXIT: { syncThreads(); result[warpId()] = sums[blockThreadId() / 32]; top[blockId()] = "
      "highest; }\n"
      "ON_REPORT: { emit(\"sum\", sum(result)); emit(\"top\", min(top)); }",
      shape());
  ASSERT_EQ(measured.failure, "");
  double expected = 0;
  for (std::uint32_t i = 0; i < GetParam(); ++i) expected += 3 * (i % 32);
  EXPECT_EQ(measured["sum"], expected);
  EXPECT_EQ(measured["top"], GetParam() - 1);
}

TEST_P(BlockSize, KeepsLocalArraysPerThread) {
  const Measured measured = measure(
      "global unsigned int histogram[8];\n"
      "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { unsigned int h[8]; for (int i = 0; i < 10; ++i) h[(i + laneId()) "
      "% 8] += 1;\n"
      "  for (int i = 0; i < 8; ++i) atomicAdd(&histogram[i], h[i]); }",
      shape());
  ASSERT_EQ(measured.failure, "");
  double total = 0;
  for (const double count : measured.results.at("histogram")) total += count;
  EXPECT_EQ(total, 10 * threads());
}

TEST_P(BlockSize, WarpFunctionsSeeTheActiveLanes) {
  const Measured measured = measure(
      "global unsigned long sum[WARPS];\nglobal double weight[WARPS];\nglobal int high[WARPS];\nglobal long "
      "low[WARPS];\n"
      "global unsigned votes[WARPS];\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: {\n"
      "  long s = warpSum(laneId() + 1); double w = warpSum(0.5); int h = warpMax((int)laneId() - 40);\n"
      "  long l = warpMin(1000000000000 - laneId()); double d = warpMax(laneId() * 0.5);\n"
      "  unsigned v = warpAny(laneId() == 3) + 2 * warpAll(laneId() < 32) + 4 * warpAll(laneId() < 3) + 8 * "
      "(d >= 0);\n"
      "  if (leastActiveThreadInWarp()) { sum[warpId()] = s; weight[warpId()] = w; high[warpId()] = h; "
      "low[warpId()] = l; "
      "votes[warpId()] = v; }\n}",
      shape());
  ASSERT_EQ(measured.failure, "");
  for (std::size_t warp = 0; warp < measured.results.at("sum").size(); ++warp) {
    const std::uint32_t in_block = static_cast<std::uint32_t>(warp % shape().warps());
    const double lanes = std::min(32u, GetParam() - 32 * in_block);
    EXPECT_EQ(measured.results.at("sum")[warp], lanes * (lanes + 1) / 2);
    EXPECT_EQ(measured.results.at("weight")[warp], lanes / 2);
    EXPECT_EQ(measured.results.at("high")[warp], lanes - 41);
    EXPECT_EQ(measured.results.at("low")[warp], 1e12 - (lanes - 1));
    EXPECT_EQ(measured.results.at("votes")[warp], (lanes > 3 ? 1 : 0) + 2 + (lanes <= 3 ? 4 : 0) + 8);
  }
}

TEST_P(BlockSize, CountsDistinctValuesInAnyOrder) {
  const Measured measured = measure(
      "global unsigned long up; global unsigned long down; global unsigned long halves; global unsigned long "
      "wide;\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: { unsigned u = uniqueElementCount(laneId() / 4);\n"
      "  unsigned d = uniqueElementCount((37 - laneId()) * 5 % 8); unsigned h = uniqueElementCount(laneId() "
      "% 2, true);\n"
      "  unsigned w = uniqueElementCount((unsigned long)(laneId() % 3) << 40);\n"
      "  if (leastActiveThreadInWarp()) { atomicAdd(&up, u); atomicAdd(&down, d); atomicAdd(&halves, h); "
      "atomicAdd(&wide, w); } }",
      shape());
  ASSERT_EQ(measured.failure, "");
  double up = 0, down = 0, halves = 0, wide = 0;
  for (std::uint32_t left = GetParam(); left > 0; left -= std::min(left, 32u)) {
    const double lanes = std::min(left, 32u);
    up += std::ceil(lanes / 4);
    down += std::min(lanes, 8.0);
    halves += std::min(lanes, 2.0) + std::clamp(lanes - 16, 0.0, 2.0);
    wide += std::min(lanes, 3.0);
  }
  EXPECT_EQ(measured["up"], 3 * up);
  EXPECT_EQ(measured["down"], 3 * down);
  EXPECT_EQ(measured["halves"], 3 * halves);
  EXPECT_EQ(measured["wide"], 3 * wide);
}

TEST_P(BlockSize, RunsLynxInstructionCountAsPrinted) {
  for (const std::string kernel : {"straight", "divergent", "early"}) {
    const Measured measured = measure(example("paper/paper_instruction_count"), shape(), kernel);
    ASSERT_EQ(measured.failure, "") << kernel;
    EXPECT_GT(measured.thread_instructions, 0u);
    EXPECT_EQ(measured["thread_instructions"], static_cast<double>(measured.thread_instructions)) << kernel;
    EXPECT_EQ(measured.dropped, 0u);
  }
}

TEST_P(BlockSize, RunsLynxMemoryEfficiencyAsPrinted) {
  const Measured measured = measure(example("paper/paper_memory_efficiency"), shape());
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 0u);
  EXPECT_EQ(measured["warp_accesses"], 2 * warps());
  // 16 lanes read 64 consecutive bytes: one segment, or two if they cross a boundary.
  const double half_warps = 3 * std::ceil(GetParam() / 16.0);
  EXPECT_GE(measured["transactions"], 2 * half_warps);
  EXPECT_LE(measured["transactions"], 4 * half_warps);
}

TEST_P(BlockSize, RunsLynxKernelRuntimeAsPrinted) {
  const Measured measured = measure(example("paper/paper_kernel_runtime"), shape(), "divergent");
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.results.at("cycles").size(), 3u);
  for (const double cycles : measured.results.at("cycles")) EXPECT_GT(cycles, 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, BlockSize, testing::ValuesIn(block_sizes));

TEST(Conformance, BarrierAtExitNeedsASingleExit) {
  const Measured measured = measure(example("paper/paper_kernel_runtime"), line(32), "early");
  EXPECT_NE(measured.failure.find("some of the kernel's threads may exit early"), std::string::npos)
      << measured.failure;
}

TEST(Conformance, OpcodePatternsSelectInstructions) {
  const char* source =
      "global unsigned long loads; global unsigned long adds; global unsigned long none; global unsigned "
      "long both;\n"
      "ON_INSTRUCTION: OPCODE(\"ld.global.*\"): { atomicAdd(&loads, 1); }\n"
      "ON_INSTRUCTION: OPCODE(\"add.?32\"): { atomicAdd(&adds, 1); }\n"
      "ON_INSTRUCTION: OPCODE(\"ld.global\"): { atomicAdd(&none, 1); }\n"
      "ON_INSTRUCTION: OPCODE(\"ld.global*\"): OPCODE(\"st.*\"): GLOBAL: { atomicAdd(&both, 1); }\n";
  const Measured measured = measure(source, line(33));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["loads"], 99);
  EXPECT_EQ(measured["adds"], 99);
  EXPECT_EQ(measured["none"], 0);
  EXPECT_EQ(measured["both"], 198);
}

TEST(Conformance, SourceLinesSelectInstructions) {
  const char* source =
      "global unsigned long work; global unsigned long end; global unsigned long other;\n"
      "ON_INSTRUCTION: SOURCE(\"kernel.cu\", 10, 11): { atomicAdd(&work, 1); }\n"
      "ON_INSTRUCTION: SOURCE(\"src/kernel.cu\", 12): { atomicAdd(&end, 1); }\n"
      "ON_INSTRUCTION: SOURCE(\"nel.cu\", 10): { atomicAdd(&other, 1); }\n";
  const Measured measured = measure(source, line(32));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["work"], 3 * 96);
  EXPECT_EQ(measured["end"], 96);
  EXPECT_EQ(measured["other"], 0);
}

TEST(Conformance, FiltersSelectKernelsAndBlocks) {
  const char* source =
      "global unsigned long mine; global unsigned long other; global unsigned long sampled;\n"
      "ON_KERNEL_ENTRY: KERNEL(\"^stra\"): { atomicAdd(&mine, 1); }\n"
      "ON_KERNEL_ENTRY: KERNEL(\"diver|early\"): { atomicAdd(&other, 1); }\n"
      "ON_KERNEL_EXIT: EVERY(4): { atomicAdd(&sampled, 1); }\n";
  const Measured measured = measure(source, line(33, 10));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["mine"], 330);
  EXPECT_EQ(measured["other"], 0);
  EXPECT_EQ(measured["sampled"], 99) << "blocks 0, 4 and 8";
}

TEST(Conformance, OutOfBoundsAccessesAreCountedInEveryMemory) {
  const char* source =
      "shared int s[4]; const int t[2] = {1, 2}; global int g[2];\n"
      "ON_KERNEL_EXIT: { int l[3]; int i = blockDim(); l[i] = 1; s[i] = 1; g[0] = t[i] + l[i + 1] + s[i]; }";
  const Measured measured = measure(source, line(32, 1));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 5u * 32);
  EXPECT_EQ(measured.dropped_at, (std::map<std::uint32_t, std::uint64_t>{{2, 5 * 32}}));
}

TEST(Conformance, EveryIndexIsChecked) {
  const Measured measured = measure(
      "global int g[2][4], after[64];\nON_KERNEL_EXIT: { int i = laneId(), j = i % 4; g[i][j] = 1; g[1][i] = "
      "2; }\n"
      "ON_REPORT: { emit(\"sum\", sum(g)); emit(\"after\", sum(after)); }",
      line(32, 1));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 30u + 28u) << "rows 2 to 31, then columns 4 to 31";
  EXPECT_EQ(measured["sum"], 1 + 4 * 2) << "g[0][0] and the second row";
  EXPECT_EQ(measured["after"], 0);
}

TEST(Conformance, OutOfBoundsAccessesAreCountedByLocation) {
  const Measured measured = measure(
      "global int g[2], h[4];\nstatic void set(int *p, int i) {\n p[i] = 1; }\nON_KERNEL_EXIT: {\n"
      " int i = laneId();\n g[i] = 1;\n h[i] += 1; set(h, i); }",
      line(32, 1));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped_at, (std::map<std::uint32_t, std::uint64_t>{{3, 28}, {6, 30}, {7, 28}}));
}

TEST(Conformance, GlobalMemAddsUpWhereThreadsConflict) {
  const char* source =
      "ON_KERNEL_EXIT: { globalMem[0] += 2; globalMem[1]++; globalMem[2] -= 1; unsigned long n = "
      "++globalMem[3]; if (n == 7) "
      "globalMem[4] = 1; }\n"
      "ON_REPORT: { emit(\"a\", globalMem[0]); emit(\"b\", globalMem[1]); emit(\"c\", (long)globalMem[2]); "
      "emit(\"d\", "
      "globalMem[4]); }";
  const Measured measured = measure(source, line(96));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["a"], 2 * 288);
  EXPECT_EQ(measured["b"], 288);
  EXPECT_EQ(measured["c"], -288);
  EXPECT_EQ(measured["d"], 1);
}

TEST(Conformance, GridsMayHaveThreeDimensions) {
  const Shape shape{{2, 3, 2}, {5, 4, 3}};
  const Measured measured = measure(
      "global unsigned long threads[THREADS]; global unsigned long blocks[BLOCKS]; global unsigned int "
      "w[WARPS];\n"
      "ON_KERNEL_EXIT: { threads[globalThreadId()] += 1 + threadIndexX() + 10 * threadIndexY() + 100 * "
      "threadIndexZ();\n"
      "  atomicAdd(&blocks[blockId()], 1 + blockIndexX() + 10 * blockIndexY() + 100 * blockIndexZ()); "
      "atomicAdd(&w[warpId()], 1); }",
      shape);
  ASSERT_EQ(measured.failure, "");
  for (std::size_t i = 0; i < measured.results.at("threads").size(); ++i) {
    const auto thread = static_cast<double>(i % 60 % 5 + 10 * (i % 60 / 5 % 4) + 100 * (i % 60 / 20));
    EXPECT_EQ(measured.results.at("threads")[i], 1 + thread);
  }
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_EQ(measured.results.at("blocks")[i],
              60.0 * static_cast<double>(1 + i % 2 + 10 * (i / 2 % 3) + 100 * (i / 6)));
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(measured.results.at("w")[i], i % 2 == 0 ? 32 : 28);
}

// ---------------------------------------------------------------- metrics, compared with the device's own
// counters

TEST(Metrics, BranchesDivergeIfLanesTakeDifferentEdges) {
  for (const std::uint32_t threads : block_sizes) {
    const Measured measured = measure(example("branch_divergence"), line(threads), "edges");
    ASSERT_EQ(measured.failure, "") << threads;
    const device::cpu::BranchCounters& counted = measured.counters.branches;
    EXPECT_EQ(measured["total_branches"], static_cast<double>(counted.warps)) << threads;
    EXPECT_EQ(measured["total_divergent"], static_cast<double>(counted.divergent)) << threads;
    const std::uint32_t dividing = threads / 32 + (threads % 32 > 1 ? 1 : 0);
    EXPECT_EQ(counted.divergent, 3 * dividing) << threads;
  }
}

void expect_counts(const Measured& measured, const std::string& kind,
                   const device::cpu::MemoryCounters& counted) {
  const auto expect = [&](const std::string& name, std::uint64_t value) {
    if (measured.results.contains(kind + name)) {
      EXPECT_EQ(measured[kind + name], static_cast<double>(value)) << kind << name;
    }
  };
  expect("_requests", counted.global.requests);
  expect("_sectors", counted.global.sectors);
  expect("_bytes_asked", counted.global.bytes);
  expect("_accesses", counted.shared.accesses);
  expect("_wavefronts", counted.shared.wavefronts);
  expect("_conflicts", counted.shared.wavefronts - counted.shared.least_wavefronts);
}

TEST(Metrics, AccessesOfEveryPatternMatchTheDevicesCounters) {
  for (const std::uint32_t threads : {33u, 90u}) {
    for (const char* name : {"memory_efficiency", "shared_bank_conflicts"}) {
      const Measured measured = measure(example(name), line(threads, 72), "patterns");
      ASSERT_EQ(measured.failure, "") << name;
      expect_counts(measured, "load", measured.counters.loads);
      expect_counts(measured, "store", measured.counters.stores);
      expect_counts(measured, "atomic", measured.counters.atomics);
      EXPECT_GT(measured.counters.loads.global.sectors, 2 * measured.counters.loads.global.requests);
      EXPECT_GT(measured.counters.loads.shared.wavefronts, 2 * measured.counters.loads.shared.accesses);
    }
  }
}

// ---------------------------------------------------------------- counts kept in registers per site

TEST(Tallies, AddNumbersThatDoNotFitInARegister) {
  const std::string source = R"(
    global unsigned long total[INSTRUCTIONS];
    ON_INSTRUCTION: MEM_READ: MEM_WRITE: {
      unsigned int big = 4000000000u - laneId();
      if (laneId() % 3 != 1) atomicAdd(&total[instructionId()], big);
    }
    ON_REPORT: { emit("sum", sum(total)); }
  )";
  // Two loads of parameters, a load and a store.
  double expected = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) expected += lane % 3 == 1 ? 0 : 4000000000.0 - lane;
  const Measured measured = measure(source, line(96, 5));
  EXPECT_EQ(measured["sum"], 5 * 3 * 4 * expected);
  EXPECT_EQ(measure(source, line(70), "divergent").failure, "");
  EXPECT_EQ(measure(source, line(33), "early").failure, "");
}

TEST(Tallies, StaySeparateIfASiteHasSeveral) {
  // More sites than registers.
  const Measured measured = measure(R"(
    global unsigned long one[INSTRUCTIONS];
    global unsigned long two[INSTRUCTIONS];
    global unsigned long lanes[INSTRUCTIONS];
    ON_INSTRUCTION: MEM_READ: MEM_WRITE: {
      unsigned int n = 1 + laneId() / 32;
      if (laneId() != 3) {
        atomicAdd(&one[instructionId()], n);
        atomicAdd(&two[instructionId()], 2 * n);
        atomicAdd(&lanes[instructionId()], laneId());
      }
    }
    ON_REPORT: { emit("one", sum(one)); emit("two", sum(two)); emit("lanes", sum(lanes)); }
  )",
                                    line(64, 8), "patterns");
  ASSERT_EQ(measured.failure, "");
  EXPECT_GT(measured["one"], 0);
  EXPECT_EQ(measured["two"], 2 * measured["one"]);
}

TEST(Tallies, OwnTheirArrayExclusively) {
  // The second statement reads the first one's sum, so both stay in memory.
  const Measured measured = measure(R"(
    global unsigned long seen[INSTRUCTIONS];
    global unsigned long late;
    ON_INSTRUCTION: MEM_WRITE: GLOBAL: {
      if (laneId() < 5) atomicAdd(&seen[instructionId()], 1);
      if (seen[instructionId()] != 0) atomicAdd(&late, 1);
    }
    ON_REPORT: { emit("seen", sum(seen)); emit("late", late); }
  )",
                                    line(32, 1));
  EXPECT_EQ(measured["seen"], 5);
  EXPECT_GT(measured["late"], 0);
}

}  // namespace
}  // namespace lynxpp::cod
