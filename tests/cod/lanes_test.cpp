// Functions about lanes refer to the active lanes: under conditions, in loops, after jumps, in helper
// functions. So do the ready-made specifications if a warp's lanes access different memories.
#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/cod/conformance_fixture.h"
#include "tests/cod/random_lanes.h"

namespace lynxpp::cod {
namespace {

Shape row(std::uint32_t threads, std::uint32_t blocks = 2) { return {{blocks, 1, 1}, {threads, 1, 1}}; }

/// Threads store to their own element: under a guard if their index modulo 3 is 1; thread t (t modulo 4)
/// times in a loop; and those with an even index after the others have returned.
std::string stores_for(const std::string& target) {
  return ".version 8.0\n.target " + target + R"(
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.u32 %r4, %r3, %r2, %r1;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  rem.u32 %r5, %r1, 3;
  setp.eq.u32 %p1, %r5, 1;
  @%p1 st.global.u32 [%rd3], %r1;
  and.b32 %r6, %r1, 3;
$L_test:
  setp.eq.u32 %p2, %r6, 0;
  @%p2 bra $L_end;
  st.global.u32 [%rd3], %r6;
  sub.u32 %r6, %r6, 1;
  bra $L_test;
$L_end:
  and.b32 %r7, %r1, 1;
  setp.ne.u32 %p3, %r7, 0;
  @%p3 ret;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";
}

std::vector<std::uint32_t> executions_of_stores(std::uint32_t exist, std::uint32_t first) {
  const auto those = [&](auto come) {
    std::uint32_t mask = 0;
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      mask |= (exist >> lane & 1) != 0 && come(first + lane) ? 1u << lane : 0;
    return mask;
  };
  std::vector<std::uint32_t> result{those([](std::uint32_t thread) { return thread % 3 == 1; })};
  for (std::uint32_t round = 0; round < 3; ++round)
    result.push_back(those([&](std::uint32_t thread) { return thread % 4 > round; }));
  result.push_back(those([](std::uint32_t thread) { return thread % 2 == 0; }));
  return result;
}

void expect_random_lanes(std::uint64_t seed, int device_sm) {
  constexpr std::uint32_t sizes[] = {32, 45, 96, 7};
  const std::uint32_t threads = sizes[seed % 4];
  const RandomLanes random(seed);
  const std::string source = random.text();
  const std::string module = stores_for(device_sm >= 80 ? "sm_80" : "sm_70");
  const Measured measured = device_sm >= 80 ? measure_module(source, row(threads), module, seed % 10 == 0)
                                            : measure_module_for(source, row(threads), module, device_sm);
  ASSERT_EQ(measured.failure, "") << source;
  const RandomLanes::Expected expected = random.expected(2, threads, executions_of_stores);
  EXPECT_EQ(measured.arrays.at(0), expected.hashes) << "seed " << seed << "\n" << source;
  EXPECT_EQ(measured.arrays.at(1), expected.elected) << "seed " << seed << "\n" << source;
  EXPECT_EQ(measured.arrays.at(2), expected.added) << "seed " << seed << "\n" << source;
}

class RandomConditions : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomConditions, YieldResultsOfTheActiveLanes) {
  for (std::uint64_t i = 0; i < 6; ++i) expect_random_lanes(GetParam() * 6 + i, 90);
}

TEST_P(RandomConditions, YieldThemOnOlderTargets) {
  for (std::uint64_t i = 0; i < 2; ++i) expect_random_lanes(1000 + GetParam() * 2 + i, 70);
}

INSTANTIATE_TEST_SUITE_P(Some, RandomConditions, testing::Range<std::uint64_t>(0, 8));

// ---------------------------------------------------------------- in closed form

struct Case {
  const char* name;
  const char* code;  ///< at the store of a full warp; adds to n
  double expected;   // per warp
};

class Conditions : public testing::TestWithParam<Case> {};

TEST_P(Conditions, ExcludeLanesForWhichTheyFail) {
  const Measured measured = measure(
      std::string("global unsigned long n[1];\nshared unsigned int words[1];\n"
                  "static int few() { return activeThreadCount() < 9; }\n"
                  "static unsigned int among(unsigned int limit) { if (laneId() >= limit) return 100; return "
                  "activeThreadCount(); }\n"
                  "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { ") +
          GetParam().code + " }\nON_REPORT: { emit(\"n\", n[0]); }",
      row(64));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["n"], 4 * GetParam().expected) << GetParam().code;
}

const Case cases[] = {
    {"Election", "if (laneId() > 3) { if (leastActiveThreadInWarp()) n[0]++; }", 1},
    {"ElectionWithStep", "if (laneId() > 3) { if (leastActiveThreadInWarp()) n[0] += laneId(); }", 4},
    {"ElectionOfBothSides",
     "if (laneId() > 3) { if (leastActiveThreadInWarp()) n[0] += laneId(); } else if "
     "(leastActiveThreadInWarp()) n[0] += 100;",
     104},
    {"Nested", "if (laneId() > 3) { if (laneId() & 1) { if (leastActiveThreadInWarp()) n[0] += laneId(); } }",
     5},
    {"NotElected", "if (!leastActiveThreadInWarp()) { n[0] += activeThreadCount(); }", 31 * 31},
    {"BesideTheElected", "if (leastActiveThreadInWarp()) n[0]++; else n[0] += activeThreadCount();",
     1 + 31 * 31},
    {"ElectedAmongTheOthers",
     "if (!leastActiveThreadInWarp()) if (leastActiveThreadInWarp()) n[0] += laneId();", 1},
    {"Uniform",
     "if (blockDim() == 64) { if (leastActiveThreadInWarp()) n[0]++; n[0] += activeThreadCount(); }",
     1 + 32 * 32},
    {"And", "if (laneId() > 3 && leastActiveThreadInWarp()) n[0] += laneId();", 4},
    {"AndElse", "if (laneId() > 3 && laneId() < 20) n[0]++; else n[0] += activeThreadCount();", 16 + 16 * 16},
    {"Or", "if (laneId() < 4 || warpAny(laneId() == 10) && laneId() == 10) n[0] += activeThreadCount();", 25},
    {"Choice", "n[0] += laneId() < 5 ? activeThreadCount() : 0;", 25},
    {"ChoiceElse", "n[0] += laneId() < 5 ? 0 : activeThreadCount();", 27 * 27},
    {"MaskOfSome", "if (laneId() >= 28) n[0] += activeMask() >> 28;", 60},
    {"Return", "if (laneId() < 8) return; n[0] += activeThreadCount();", 24 * 24},
    {"InnerReturn", "if (laneId() < 8) { if (laneId() & 1) return; n[0]++; } n[0] += activeThreadCount();",
     4 + 28 * 28},
    {"LoopsEnd", "for (unsigned int i = 0; i < laneId(); ++i) n[0] += activeThreadCount();",
     31 * 32 * 63 / 6.0},
    {"AfterALoop",
     "for (unsigned int i = 0; i < laneId(); ++i) if (i == 5) return; n[0] += activeThreadCount();", 36},
    {"Continue",
     "for (int i = 0; i < 2; ++i) { if (laneId() < 10) { if (laneId() < 4) continue; n[0]++; } n[0] += "
     "activeThreadCount(); }",
     2 * (6 + 28 * 28)},
    {"Switch",
     "switch (laneId() % 8) { case 1: case 5: n[0] += activeThreadCount(); break; case 2: n[0]++; case 3: "
     "n[0] += "
     "activeThreadCount(); break; default: n[0] += activeThreadCount(); }",
     8 * 8 + 4 + 8 * 8 + 16 * 16},
    {"Helper", "if (laneId() < 8) n[0] += few(); else n[0] += 10 * few();", 8},
    {"HelperReturns", "n[0] += among(5) + activeThreadCount();", 25 + 27 * 100 + 32 * 32},
    {"Votes", "if (laneId() < 6) n[0] += warpSum(1) + warpMax(laneId()) + ballot(laneId() > 3);",
     6 * (6 + 5 + 48)},
    {"Different", "if (laneId() < 6) n[0] += uniqueElementCount(laneId() / 2) + divergentWarp(laneId() > 5);",
     18},
    {"LastAssigned",
     "words[0] = laneId() / 4; if (laneId() < 8) words[0] = 1; if (leastActiveThreadInWarp()) n[0] += "
     "uniqueElementCount(words);",
     8},
};

INSTANTIATE_TEST_SUITE_P(Each, Conditions, testing::ValuesIn(cases),
                         [](const auto& each) { return std::string(each.param.name); });

// ---------------------------------------------------------------- sectors and banks

struct Access {
  const char* name;
  const char* value;
  std::uint32_t bytes;
};

/// Random, near and strided accesses of the lanes whose `guard` holds, if given.
std::string accesses_of(const Access& access, const std::string& guard) {
  std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p;
  .reg .b16 %h;
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>;
  .shared .align 16 .b8 tile[4096];
  ld.param.u64 %rd1, [in];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %laneid;
  rem.u32 %r3, %r2, 3;
  setp.ne.u32 %p, %r3, 1;
  mov.u32 %r4, tile;
  mov.u64 %rd5, 0;
)";
  const std::string mask = std::to_string(4096 - access.bytes);
  for (const char* const place :
       {"mul.lo.u32 %r5, %r1, 4;", "mul.lo.u32 %r5, %r1, 72;", "mul.lo.u32 %r5, %r1, 1664525;",
        "shl.b32 %r5, %r1, 3;\n  xor.b32 %r5, %r5, 52;",
        "shr.u32 %r5, %r1, 1;\n  mul.lo.u32 %r5, %r5, 256;"}) {
    text += std::string("  ") + place + "\n  and.b32 %r5, %r5, " + mask +
            ";\n  add.u32 %r6, %r4, %r5;\n  cvt.u64.u32 %rd2, %r5;\n  add.s64 %rd3, %rd1, %rd2;\n";
    text += "  " + guard + "ld.shared." + access.value + ", [%r6];\n";
    text += "  " + guard + "ld.global." + access.value + ", [%rd3];\n";
  }
  return text + "  ret;\n}\n";
}

const char* const under_conditions = R"(
  global unsigned long requests[INSTRUCTIONS];
  global unsigned long sectors[INSTRUCTIONS];
  global unsigned long wavefronts[INSTRUCTIONS];
  global unsigned long conflicts[INSTRUCTIONS];
  global unsigned long groups[INSTRUCTIONS];
  static void banks() {
    unsigned int made = bankWavefronts();
    unsigned int avoidable = bankConflicts();
    unsigned int needed = bankGroups() - bankGroupsSpared();
    if (leastActiveThreadInWarp()) {
      atomicAdd(&wavefronts[instructionId()], made);
      atomicAdd(&conflicts[instructionId()], avoidable);
      atomicAdd(&groups[instructionId()], needed);
    }
  }
  ON_INSTRUCTION: MEM_READ: GLOBAL: {
    if (laneId() % 3 != 1) {
      int first = firstInSector();
      if (first) atomicAdd(&sectors[instructionId()], 1);
      if (leastActiveThreadInWarp()) atomicAdd(&requests[instructionId()], 1);
    }
  }
  ON_INSTRUCTION: MEM_READ: SHARED: {
    if (laneId() % 3 != 1) banks();
  }
)";
const char* const behind_a_return = R"(
  global unsigned long requests[INSTRUCTIONS];
  global unsigned long sectors[INSTRUCTIONS];
  global unsigned long wavefronts[INSTRUCTIONS];
  global unsigned long conflicts[INSTRUCTIONS];
  global unsigned long groups[INSTRUCTIONS];
  ON_INSTRUCTION: MEM_READ: GLOBAL: {
    if (laneId() % 3 == 1) return;
    int first = firstInSector();
    if (first) atomicAdd(&sectors[instructionId()], 1);
    if (leastActiveThreadInWarp()) requests[instructionId()] += 1;
  }
  ON_INSTRUCTION: MEM_READ: SHARED: {
    if (laneId() % 3 == 1) return;
    unsigned int needed = bankGroups() - bankGroupsSpared();
    unsigned int avoidable = bankConflicts();
    if (leastActiveThreadInWarp()) {
      atomicAdd(&wavefronts[instructionId()], needed + avoidable);
      atomicAdd(&conflicts[instructionId()], avoidable);
      atomicAdd(&groups[instructionId()], needed);
    }
  }
)";

class Accesses : public testing::TestWithParam<Access> {};

/// The handler's counts under a condition equal the device's counts of the access under the same guard.
TEST_P(Accesses, UnderAConditionCostWhatTheDeviceCountsUnderAGuard) {
  for (const std::uint32_t threads : {64u, 45u}) {
    const Shape shape = row(threads, 33);
    const std::string module = accesses_of(GetParam(), "");
    const Measured guarded = measure_module("ON_KERNEL_EXIT: {}", shape, accesses_of(GetParam(), "@%p "));
    for (const char* const source : {under_conditions, behind_a_return}) {
      const Measured measured = measure_module(source, shape, module);
      ASSERT_EQ(measured.failure, "");
      std::uint64_t seen = 0;
      for (std::size_t i = 0; i < guarded.counters.sites.size(); ++i) {
        const device::cpu::SiteCounters& site = guarded.counters.sites[i];
        const auto expect = [&](std::size_t array, std::uint64_t value) {
          EXPECT_EQ(measured.arrays[array][i], value)
              << "array " << array << " of " << site.opcode << " in line " << site.line;
          seen += value;
        };
        expect(0, site.global.requests);
        expect(1, site.global.sectors);
        expect(2, site.shared.wavefronts);
        expect(3, site.shared.wavefronts - site.shared.least_wavefronts);
        expect(4, site.shared.least_wavefronts);
      }
      EXPECT_GT(seen, 0u);
    }
  }
}

const Access accesses[] = {
    {"Bytes1", "u8 %h", 1},
    {"Bytes4", "u32 %r7", 4},
    {"Bytes8", "u64 %rd4", 8},
    {"Bytes16", "v4.u32 {%r8, %r9, %r10, %r11}", 16},
};
INSTANTIATE_TEST_SUITE_P(Each, Accesses, testing::ValuesIn(accesses),
                         [](const auto& each) { return std::string(each.param.name); });

// ---------------------------------------------------------------- one access, two memories

/// In one generic load, lanes of one parity read global memory, five sectors per warp, and the others read
/// shared memory, each its own word. `first`: the memory that lane 0 reads.
std::string two_memories(const std::string& first) {
  const std::string is_global = first == "global" ? "eq" : "ne";
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<10>;
  .shared .align 128 .b8 tile[256];
  ld.param.u64 %rd1, [in];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  setp.)" +
         is_global + R"(.u32 %p, %r2, 0;
  shr.u32 %r3, %r1, 1;
  and.b32 %r3, %r3, 15;
  rem.u32 %r4, %r3, 5;
  mul.wide.u32 %rd2, %r4, 32;
  add.s64 %rd3, %rd1, %rd2;
  mov.u64 %rd4, tile;
  cvta.shared.u64 %rd4, %rd4;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  selp.b64 %rd7, %rd3, %rd6, %p;
  ld.u32 %r5, [%rd7];
  ret;
}
)";
}

std::string ready_made(const std::string& name) {
  std::string source;
  EXPECT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/" + name + ".cod", source));
  return source;
}

TEST(TwoMemories, AreCountedSeparatelyInOneAccess) {
  for (const std::string first : {"global", "shared"}) {
    const std::string module = two_memories(first);
    const Measured memory = measure_module(ready_made("memory_efficiency"), row(64, 1), module);
    const Measured banks = measure_module(ready_made("shared_bank_conflicts"), row(64, 1), module);
    ASSERT_EQ(memory.failure + banks.failure, "");
    EXPECT_EQ(memory["load_requests"], 2) << "lane 0: " << first;
    EXPECT_EQ(memory["load_sectors"], 10) << "lane 0: " << first;
    EXPECT_EQ(memory["load_bytes_asked"], 2 * 16 * 4) << "lane 0: " << first;
    EXPECT_EQ(banks["load_accesses"], 2) << "lane 0: " << first;
    EXPECT_EQ(banks["load_wavefronts"], 2) << "lane 0: " << first;
    EXPECT_EQ(banks["load_conflicts"], 0) << "lane 0: " << first;
  }
}

}  // namespace
}  // namespace lynxpp::cod
