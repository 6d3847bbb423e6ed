// Handlers ▶ PTX: the shape of the routines, and ptxas on many small handlers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"
#include "tests/support/readable_name.h"

namespace lynxpp::cod {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& piece) {
  std::size_t count = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++count;
  return count;
}

/// The routine of the last handler.
std::string routine_of(const std::string& source, int sm = 80) {
  const SpecificationPtr specification = compiled(source);
  if (specification == nullptr) return {};
  const std::vector<std::string> routines = lowered(*specification, sm);
  return routines.empty() ? std::string() : routines.back();
}

TEST(Lowering, StateIsReadOnceAndWrittenOnceIfAssigned) {
  const std::string routine = routine_of(
      "unsigned long n; int other; ON_BASIC_BLOCK_EXIT: { n += 1; n *= 2; if (n > 5) return; n = 0; }");
  EXPECT_EQ(count_of(routine, ", __lynxpp_state_0;"), 1u);
  EXPECT_EQ(count_of(routine, "mov.b64 __lynxpp_state_0, "), 1u);
  EXPECT_THAT(routine, Not(HasSubstr("__lynxpp_state_1")));
  const std::string reader =
      routine_of("int n; global int a[THREADS]; ON_KERNEL_EXIT: { a[globalThreadId()] = n; }");
  EXPECT_EQ(count_of(reader, "mov.b32 "), 1u) << reader;
  EXPECT_THAT(reader, Not(HasSubstr("mov.b32 __lynxpp_state_0")));
}

TEST(Lowering, NarrowAndFloatingStatesArePassedAsBits) {
  const std::string routine = routine_of(
      "char a; unsigned short b; bool c; float d; double e;\nON_KERNEL_EXIT: { a += 1; b += 1; c = !c; d += "
      "1; e += 1; }");
  EXPECT_THAT(routine, HasSubstr("mov.b32 __lynxpp_state_0, "));
  EXPECT_THAT(routine, HasSubstr("mov.b32 __lynxpp_state_3, "));
  EXPECT_THAT(routine, HasSubstr("mov.b64 __lynxpp_state_4, "));
  if (has_ptxas()) {
    EXPECT_EQ(ptxas_errors(wrapped(routine, 80), 80), "");
  }
}

TEST(Lowering, UnusedSiteValuesAndParameterSlotsAreDropped) {
  const std::string routine = routine_of(
      "int n; global int a[4]; ON_INSTRUCTION: { if (0) n += accessSize(); long unused = memoryAddress(); n "
      "+= instructionId(); }");
  EXPECT_THAT(routine, HasSubstr("__lynxpp_site_instruction_id"));
  EXPECT_THAT(routine, Not(HasSubstr("memory_address")));
  EXPECT_THAT(routine, Not(HasSubstr("__lynxpp_word_")));
}

TEST(Lowering, ProvableIndicesAreNotChecked) {
  const char* provable[] = {"THREADS][globalThreadId()", "BLOCKS][blockId()", "WARPS][warpId()",
                            "LANES][laneId()", "8][7"};
  for (const std::string each : provable) {
    const std::size_t cut = each.find("][");
    const std::string routine = routine_of("global int a[" + each.substr(0, cut) + "]; ON_KERNEL_EXIT: { a[" +
                                           each.substr(cut + 2) + "] = 1; }");
    EXPECT_THAT(routine, Not(HasSubstr("setp"))) << each;
    EXPECT_THAT(routine, Not(HasSubstr("red.global"))) << each;
  }
  EXPECT_THAT(
      routine_of(
          "global int a[BASIC_BLOCKS]; ON_BASIC_BLOCK_EXIT: { unsigned b = basicBlockId(); a[b] = 1; }"),
      Not(HasSubstr("setp")));
  EXPECT_THAT(routine_of("global int a[INSTRUCTIONS]; ON_INSTRUCTION: { a[instructionId()] = 1; }"),
              Not(HasSubstr("setp")));
}

TEST(Lowering, OtherIndicesAreCheckedAndDropsCounted) {
  const std::string routine =
      routine_of("global int a[BLOCKS]; ON_KERNEL_EXIT: { a[globalThreadId()] = 1; }");
  EXPECT_THAT(routine, HasSubstr("setp"));
  EXPECT_EQ(count_of(routine, "red.global.add.u64"), 1u);
  const std::string constant = routine_of("global int a[8]; ON_KERNEL_EXIT: { a[8] = 1; }");
  EXPECT_THAT(constant, Not(HasSubstr("st.global")));
  EXPECT_THAT(constant, HasSubstr("red.global.add.u64"));
  const std::string compound = routine_of("global int a[BLOCKS]; ON_KERNEL_EXIT: { a[laneId()] += 1; }");
  EXPECT_EQ(count_of(compound, "red.global.add.u64"), 1u) << "one access, one drop";
}

TEST(Lowering, PlainAddIsReadModifyWrite) {
  const std::string routine =
      routine_of("global unsigned long a[THREADS]; ON_KERNEL_EXIT: { a[globalThreadId()] += 3; }");
  EXPECT_THAT(routine, HasSubstr("ld.global.u64"));
  EXPECT_THAT(routine, HasSubstr("st.global.u64"));
  EXPECT_THAT(routine, Not(HasSubstr("red.")));
}

TEST(Lowering, AddToAUniformAddressIsAggregated) {
  const std::string wide =
      "unsigned long n; global unsigned long a[BLOCKS]; ON_KERNEL_EXIT: { atomicAdd(&a[blockId()], n); }";
  EXPECT_EQ(count_of(routine_of(wide, 80), "redux.sync.add.u32"), 3u);
  EXPECT_EQ(count_of(routine_of(wide, 80), "red.global"), 1u);
  EXPECT_THAT(routine_of(wide, 75), Not(HasSubstr("redux")));
  EXPECT_THAT(routine_of(wide, 75), HasSubstr("shfl.sync.idx.b32"));
  const std::string narrow =
      "int n; global unsigned a[BLOCKS]; ON_KERNEL_EXIT: { const unsigned long b = blockId(); "
      "atomicAdd(&a[b], n); }";
  EXPECT_EQ(count_of(routine_of(narrow, 90), "redux.sync.add.u32"), 1u);
  const std::string uniform = "global unsigned a[4]; ON_KERNEL_EXIT: { atomicAdd(&a[1], 5); }";
  EXPECT_THAT(routine_of(uniform, 75), HasSubstr("popc.b32"));
  EXPECT_THAT(routine_of(uniform, 75), Not(HasSubstr("shfl")));
}

TEST(Lowering, AddToVaryingAddressesOrWithAResultIsNotAggregated) {
  const char* plain[] = {"atomicAdd(&a[laneId()], 1);", "unsigned old = atomicAdd(&a[0], 1); a[1] = old;",
                         "atomicAdd(&a[2 * laneId() + 1], 1);",
                         "if (leastActiveThreadInWarp()) atomicAdd(&a[0], 1);"};
  for (const std::string each : plain) {
    const std::string routine = routine_of("global unsigned a[64]; ON_KERNEL_EXIT: { " + each + " }");
    EXPECT_THAT(routine, Not(HasSubstr("popc"))) << each;
    EXPECT_THAT(routine, testing::AnyOf(HasSubstr("red.global.add.u32"), HasSubstr("atom.global.add.u32")))
        << each;
  }
}

TEST(Lowering, AddToAnUnknownAddressTestsForUniformity) {
  for (const std::string each :
       {"unsigned i = 0; i = laneId(); atomicAdd(&a[i], 1);", "for (int i = 0; i < 4; i++) a[i] += 1;"}) {
    const std::string routine = routine_of("global unsigned a[64]; ON_KERNEL_EXIT: { " + each + " }");
    EXPECT_EQ(count_of(routine, "vote.sync.ballot"), 1u) << each;
    EXPECT_EQ(count_of(routine, "red.global.add.u32"), 2u) << "together or apart: " << each;
  }
}

TEST(Lowering, UpdatesThatMayConflictAreAtomic) {
  const std::pair<const char*, const char*> updates[] = {
      {"a[0] += 2;", "red.global.add.u32"},
      {"a[smId()] -= 2;", "red.global.add.u32"},
      {"a[0]++;", "red.global.add.u32"},
      {"unsigned n = a[0]--; a[n] += 1;", "atom.global.add.u32"},
      {"a[0] |= 2;", "atom.global.cas.b32"},
      {"a[warpId()] *= 2;", "atom.global.cas.b32"},
      {"s[0] += 2;", "atom.shared.cas.b32"},
      {"d += 0.5;", "red.global.add.f64"},
      {"d /= 2;", "atom.global.cas.b64"},
      {"a[0] += 0.5;", "atom.global.cas.b32"},
      {"b[laneId()] += 2;", "atom.global.cas.b32"},
  };
  for (const auto& [code, expected] : updates) {
    const std::string routine = routine_of(
        "global unsigned a[64]; global double d; global char b[32]; shared short s[2]; ON_KERNEL_EXIT: { " +
        std::string(code) + " }");
    EXPECT_THAT(routine, HasSubstr(expected)) << code;
  }
}

TEST(Lowering, ActiveMaskIsQueriedOncePerBlock) {
  const std::string everywhere = routine_of(
      "unsigned n; ON_BASIC_BLOCK_EXIT: { if (leastActiveThreadInWarp()) n += 3; n += activeMask() + "
      "ballot(laneId() > 5) + warpMax(laneId()); }");
  EXPECT_EQ(count_of(everywhere, "activemask.b32"), 1u);
  EXPECT_EQ(everywhere.find("@%p"), std::string::npos);
  const std::string routine = routine_of(
      "unsigned n; ON_BASIC_BLOCK_EXIT: { if (laneId() > 3) { if (leastActiveThreadInWarp()) n += 3; n += "
      "activeMask() + activeThreadCount(); } }");
  EXPECT_EQ(count_of(routine, "activemask.b32"), 1u);
  EXPECT_GT(routine.find("activemask.b32"), routine.find(" bra"));
}

TEST(Lowering, BallotTakesItsOwnMask) {
  const std::string routine = routine_of(
      "unsigned n; ON_INSTRUCTION: { unsigned b = ballot(laneId() < 7); if (leastActiveThreadInWarp()) n += "
      "b; }");
  EXPECT_EQ(count_of(routine, "vote.sync.ballot.b32"), 1u);
  EXPECT_LT(routine.find("vote.sync"), routine.find("bra"));
}

TEST(Lowering, MinimumVersionsFollowTheInstructions) {
  const auto minima = [](const std::string& source, int sm) {
    const auto code = compiled(source)->lower_device({sm});
    return std::pair(code->minimum_sm, code->minimum_ptx);
  };
  EXPECT_EQ(minima("int n; ON_KERNEL_EXIT: { n += 1; }", 75), std::pair(0, 0));
  EXPECT_EQ(minima("int n; ON_KERNEL_EXIT: { n += activeMask(); }", 75), std::pair(30, 62));
  const std::string aggregated = "int n; global int a; ON_KERNEL_EXIT: { atomicAdd(&a, n); }";
  EXPECT_EQ(minima(aggregated, 90), std::pair(80, 70));
  EXPECT_EQ(minima(aggregated, 75), std::pair(30, 62));
}

TEST(Lowering, UsesNeitherStackNorCallsNorVariables) {
  const std::string routine = routine_of(
      "static int pick(int i) { if (i == 0) return 5; else if (i == 1) return 9; else if (i == 2) return 12; "
      "else if (i == 3) return 40; return 7; }\n"
      "double d; float f; global double a[THREADS];\n"
      "ON_KERNEL_EXIT: { long q = clockCounter() / (laneId() + 1) % 7; for (int i = 0; i < pick(q); i++) { d "
      "+= f / i; if (d > 1e9) break; }\n"
      "  a[globalThreadId()] = d + (long)d + (unsigned char)f + pick(smId()); }");
  for (const char* piece : {".local", "call", ".global .align", ".const", "brx"})
    EXPECT_THAT(routine, Not(HasSubstr(piece)));
  EXPECT_EQ(count_of(routine, ".func"), 1u);
}

class Handler : public testing::TestWithParam<const char*> {};

TEST_P(Handler, IsAcceptedByPtxas) {
  if (!has_ptxas()) GTEST_SKIP() << "no ptxas on this machine";
  const std::string source = std::string(
                                 "global unsigned long ul[THREADS]; global int i32[8][4]; global unsigned "
                                 "char u8[16]; global float f[4]; global double d[4]; global bool flag;\n"
                                 "unsigned long n; int k; float r;\n") +
                             GetParam();
  for (const int sm : {75, 90}) EXPECT_EQ(ptxas_errors(wrapped(routine_of(source, sm), sm), sm), "");
}

const char* const handlers[] = {
    "ON_KERNEL_EXIT: { ul[globalThreadId()] = n; i32[k][k + 1] -= 3; u8[k]++; f[1] *= 2; flag = flag || k > "
    "3; }",
    "ON_KERNEL_EXIT: { atomicAdd(&ul[0], n); atomicAdd(&i32[1][k], k); atomicAdd(&f[0], r); atomicAdd(&d[0], "
    "1.5); }",
    "ON_KERNEL_EXIT: { atomicMin(&ul[0], n); atomicMax(&i32[1][2], k); atomicIncrement(&ul[k]); k = "
    "atomicMax(&i32[0][0], k); }",
    "ON_KERNEL_EXIT: { n = atomicAdd(&ul[k], 1); r = atomicAdd(&f[k], 1); k = atomicIncrement(&i32[k][0]); }",
    "ON_KERNEL_ENTRY: { n = clockCounter() + globalTimer(); syncThreads(); syncWarp(); }",
    "ON_KERNEL_ENTRY: { n = threadIndexX() + threadIndexY() * blockDimX() + threadIndexZ() + blockIndexX() + "
    "blockIndexY() + blockIndexZ(); }",
    "ON_KERNEL_ENTRY: { n = gridDimX() + gridDimY() + gridDimZ() + blockDimY() + blockDimZ() + gridDim() + "
    "warpCount() + warpId(); }",
    "ON_INSTRUCTION: MEM_READ: { if (memoryAddress() % 128 == 0) n += accessSize(); k = divergentWarp(); k "
    "+= getPredicateValue(); }",
    "ON_INSTRUCTION: { while (k > 0) { k--; if (ballot(k & 1)) continue; if (k == 5) return; } }",
    "ON_BASIC_BLOCK_EXIT: { n += basicBlockId() + basicBlockCount() + basicBlockPredicatedInstructionCount() "
    "+ instructionCount(); }",
    "ON_BASIC_BLOCK_EXIT: { for (int j = 0; j < LANES; j++) { if (j == laneId()) atomicAdd(&ul[0], n); } n = "
    "THREADS / (k + 1); }",
    "ON_KERNEL_EXIT: { if (laneId() % 2) { atomicAdd(&ul[0], n); } else { atomicAdd(&ul[1], n); return; } k "
    "= (int)r; r = n; r = -r; }",
};

INSTANTIATE_TEST_SUITE_P(Each, Handler, testing::ValuesIn(handlers),
                         [](const auto& each) { return numbered_name(each.index, each.param); });

}  // namespace
}  // namespace lynxpp::cod
