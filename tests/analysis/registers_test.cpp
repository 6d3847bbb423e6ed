#include "ptx/analysis/registers/registers.h"

#include <set>

#include "ptx/analysis/flow/dominance_frontiers.h"
#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(FunctionAnalyses& analyses, std::span<const RegisterId> registers) {
  std::vector<std::string> result;
  for (const RegisterId reg : registers) result.emplace_back(analyses.registers().registers()[reg].name);
  return result;
}

struct Usage {
  explicit Usage(const std::string& body) : analysed(body) {}
  std::vector<std::string> reads(std::uint32_t at = 0) {
    return names(*analysed, analysed->registers().reads(at));
  }
  /// A partial write is marked with '?'.
  std::vector<std::string> writes(std::uint32_t at = 0) {
    std::vector<std::string> result;
    for (const RegisterWrite& write : analysed->registers().writes(at)) {
      result.emplace_back(analysed->registers().registers()[write.reg].name);
      if (write.partial) result.back() += '?';
    }
    return result;
  }
  Analysed analysed;
};

TEST(RegisterUsage, ListsReadsAndWritesInOrderOfMention) {
  Usage usage(
      "mad.lo.s32 %r1, %r2, %r3, %r2;\nst.global.v2.u32 [%rd1+4], {%r4, %r5};\n@!%p1 mov.u32 %r1, 7;");
  EXPECT_THAT(usage.reads(0), ElementsAre("%r2", "%r3"));
  EXPECT_THAT(usage.writes(0), ElementsAre("%r1"));
  EXPECT_THAT(usage.reads(1), ElementsAre("%rd1", "%r4", "%r5"));
  EXPECT_THAT(usage.writes(1), IsEmpty());
  EXPECT_THAT(usage.reads(2), ElementsAre("%p1"));
  EXPECT_THAT(usage.writes(2), ElementsAre("%r1?")) << "the old value survives where the guard does not hold";
}

TEST(RegisterUsage, HandlesVectorsPairsAndSinks) {
  Usage usage(
      "ld.global.v4.u32 {%r1, _, %r2, %r3}, [%rd1];\nsetp.lt.s32 %p1|%p2, %r1, %r2;\n"
      ".reg .v2 .f32 v;\nmov.f32 v.x, %f1;\nmov.f32 %f2, v.y;");
  EXPECT_THAT(usage.writes(0), ElementsAre("%r1", "%r2", "%r3"));
  EXPECT_THAT(usage.writes(1), ElementsAre("%p1", "%p2"));
  EXPECT_THAT(usage.writes(2), ElementsAre("v?")) << "the other component survives";
  EXPECT_THAT(usage.reads(3), ElementsAre("v"));
  EXPECT_EQ(usage.analysed->registers().registers()[usage.analysed.reg("v")].units, 2U);
}

TEST(RegisterUsage, HandlesCarriesAccumulatorsAndUnknownOpcodes) {
  Usage usage("add.cc.u32 %r1, %r2, %r3;\naddc.u32 %r4, %r5, %r6;\nfrobnicate.b32 %r1, [%rd1], %r2;");
  EXPECT_THAT(usage.writes(0), ElementsAre("%r1", "%cc"));
  EXPECT_THAT(usage.reads(1), ElementsAre("%r5", "%r6", "%cc"));
  EXPECT_THAT(usage.reads(2), ElementsAre("%r1", "%rd1", "%r2"));
  EXPECT_THAT(usage.writes(2), ElementsAre("%r1?", "%r2?"));
}

TEST(RegisterUsage, CallsReadArgumentsAndWriteResults) {
  Usage usage("call (%r1), f, (%r2, %r3);\ncall %rd1, (%r2), prototype;");
  EXPECT_THAT(usage.writes(0), ElementsAre("%r1"));
  EXPECT_THAT(usage.reads(0), ElementsAre("%r2", "%r3"));
  EXPECT_THAT(usage.reads(1), ElementsAre("%rd1", "%r2"));
  EXPECT_THAT(usage.writes(1), IsEmpty());
}

TEST(RegisterUsage, InnerScopesHideNames) {
  Usage usage("mov.u32 %r1, 1;\n{ .reg .b64 %r1; mov.u64 %r1, 2; }\nmov.u32 %r2, %r1;");
  const auto& registers = usage.analysed->registers();
  EXPECT_NE(registers.writes(0)[0].reg, registers.writes(1)[0].reg);
  EXPECT_EQ(registers.writes(0)[0].reg, registers.reads(2)[0]);
  EXPECT_EQ(registers.registers()[registers.writes(1)[0].reg].units, 2U);
}

RegisterPressure pressure(Analysed& analysed) {
  return estimate_register_pressure(analysed->graph(), analysed->registers(), analysed->liveness());
}

TEST(Pressure, CountsUnitsAtTheWorstPoint) {
  Analysed analysed(
      "mov.u32 %r1, %tid.x;\nmov.u64 %rd1, 5;\nsetp.eq.u32 %p1, %r1, 3;\ncvt.u32.u64 %r2, %rd1;\n"
      "add.u32 %r3, %r1, %r2;\n@%p1 st.global.u32 [%rd1], %r3;\nret;");
  const RegisterPressure worst = pressure(analysed);
  EXPECT_EQ(worst.units, 4U) << "%r1, %r2 and the two halves of %rd1";
  EXPECT_EQ(worst.predicates, 1U);
  EXPECT_EQ(worst.instruction, 3U);
}

TEST(Pressure, GuardedWriteKeepsTheOldValueLive) {
  Analysed analysed(
      "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r3, 3;\n@%p1 mov.u32 %r1, 5;\nadd.u32 %r4, %r1, %r2;\n"
      "add.u32 %r4, %r4, %r3;\nst.global.u32 [%rd1], %r4;\nret;");
  const std::vector<std::uint32_t> units =
      live_registers(analysed->graph(), analysed->registers(), analysed->liveness());
  EXPECT_EQ(units[2], 5U) << "%r1, %r2, %r3 and the two halves of %rd1";
  EXPECT_EQ(units[3], 5U);
}

TEST(Pressure, DeadResultOccupiesARegister) {
  Analysed analysed("mov.u64 %rd1, 5;\nret;");
  EXPECT_EQ(pressure(analysed).units, 2U);
}

TEST(Pressure, LoopsKeepTheirInvariantsLive) {
  Analysed analysed(
      "mov.u32 %r1, 0;\nmov.u32 %r2, 9;\nL: add.u32 %r1, %r1, %r2;\nadd.u32 %r3, %r1, 1;\n"
      "setp.lt.u32 %p1, %r3, 100;\n@%p1 bra L;\nst.global.u32 [%rd1], %r1;\nret;");
  EXPECT_THAT(names(*analysed, analysed->liveness().live_in(analysed.block("L"))),
              ElementsAre("%r1", "%r2", "%rd1"));
  EXPECT_EQ(pressure(analysed).units, 5U);
}

TEST(Ssa, PhisMergeDifferentValues) {
  Analysed analysed(
      "mov.u32 %r1, 1;\n@%p1 bra JOIN;\nmov.u32 %r1, 2;\nJOIN: mov.u32 %r2, %r1;\n@%p1 mov.u32 %r2, "
      "5;\nst.global.u32 "
      "[%rd1], %r2;\nret;");
  const SsaForm& ssa = analysed->ssa();
  const ValueId merged = ssa.reads(analysed.at("mov.u32 %r2, %r1"))[0];
  ASSERT_EQ(ssa.values()[merged].kind, ValueKind::phi);
  EXPECT_THAT(ssa.reaching_definitions(merged),
              testing::UnorderedElementsAre(ssa.writes(analysed.at("%r1, 1"))[0],
                                            ssa.writes(analysed.at("%r1, 2"))[0]));
  const ValueId guarded = ssa.read_of(analysed.at("st.global"), analysed.reg("%r2"));
  EXPECT_EQ(ssa.values()[guarded].previous, ssa.writes(analysed.at("mov.u32 %r2, %r1"))[0]);
  EXPECT_EQ(ssa.phis(analysed.block("JOIN")).size(), 1U) << "only where the register is live";
}

TEST(Ssa, LoopAtTheEntryMergesTheEntryValue) {
  Analysed analysed("L: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra L;\nret;");
  const SsaForm& ssa = analysed->ssa();
  const auto definitions = ssa.reaching_definitions(ssa.reads(0)[0]);
  ASSERT_EQ(definitions.size(), 2U);
  EXPECT_THAT((std::set{ssa.values()[definitions[0]].kind, ssa.values()[definitions[1]].kind}),
              ElementsAre(ValueKind::entry, ValueKind::write));
}

/// Nested loops. Each counts in a register of its own; all of them change %r0 inside and, if `later`, use %rN
/// after the loop.
std::string loops_in_one_another(int depth, bool later) {
  std::string begin = ".reg .b32 %i<" + std::to_string(depth) + ">;\nmov.u32 %r0, 0;\n";
  std::string end;
  for (int loop = 0; loop < depth; ++loop) {
    const std::string number = std::to_string(loop);
    begin += "mov.u32 %i" + number + ", 0;\nL" + number + ":\n";
    end = "add.u32 %i" + number + ", %i" + number + ", 1;\nsetp.lt.u32 %p1, %i" + number +
          ", 9;\n@%p1 bra L" + number + ";\n" + end;
  }
  for (int loop = 0; later && loop < depth; ++loop)
    end += "add.u32 %r0, %r0, %i" + std::to_string(loop) + ";\n";
  return begin + "add.u32 %r0, %r0, 1;\n" + end + "st.global.u32 [%rd1], %r0;\nret;";
}

TEST(Ssa, FrontiersAndPhisOfNestedLoopsGrowLinearly) {
  for (const bool later : {false, true}) {
    std::size_t nodes = 0, steps = 0;
    for (const int depth : {250, 500, 1000, 2000}) {
      Analysed analysed(loops_in_one_another(depth, later));
      const DominanceFrontiers frontiers(analysed->graph(), analysed->dominators());
      std::size_t phis = 0;
      for (std::uint32_t block = 0; block < analysed->graph().blocks.size(); ++block)
        phis += analysed->ssa().phis(block).size();
      EXPECT_EQ(phis, 2U * static_cast<unsigned>(depth)) << "of the loop's own register and of %r0";
      // n log n with a margin; n² / 2 entries would grow fourfold.
      if (nodes != 0) {
        EXPECT_LT(frontiers.node_count(), nodes * 12 / 5) << depth;
        EXPECT_LT(analysed->ssa().placement_steps(), steps * 12 / 5) << depth;
      }
      nodes = frontiers.node_count();
      steps = analysed->ssa().placement_steps();
    }
    EXPECT_LT(nodes, 2000U * 40);
    EXPECT_LT(steps, 2000U * 200);
  }
}

/// Nested conditions, each followed by a sum of its own.
std::string conditions_in_one_another(int depth) {
  std::string begin, end;
  for (int condition = 0; condition < depth; ++condition) {
    const std::string number = std::to_string(condition);
    begin += "@%p1 bra E" + number + ";\nadd.s32 %r1, %r1, " + number + ";\n";
    end = "E" + number + ": add.s32 %r2, %r1, 1;\n" + end;
  }
  return begin + end + "st.global.u32 [%rd1], %r2;\nret;";
}

TEST(Ssa, PhisOfNestedConditionsTakeLinearTime) {
  std::size_t steps = 0;
  for (const int depth : {250, 500, 1000, 2000}) {
    Analysed analysed(conditions_in_one_another(depth));
    std::size_t phis = 0;
    for (std::uint32_t block = 0; block < analysed->graph().blocks.size(); ++block)
      phis += analysed->ssa().phis(block).size();
    EXPECT_EQ(phis, static_cast<unsigned>(depth)) << "%r1 at every join";
    if (steps != 0) {
      EXPECT_LT(analysed->ssa().placement_steps(), steps * 12 / 5) << depth;
    }
    steps = analysed->ssa().placement_steps();
  }
  EXPECT_LT(steps, 2000U * 100);
}

TEST(Analyses, AreCached) {
  Analysed analysed("mov.u32 %r1, 1;\nret;");
  const AffineAnalysis* first = &analysed->affine();
  EXPECT_EQ(&analysed->affine(), first);
  EXPECT_EQ(&analysed->graph(), &analysed->graph());
}

}  // namespace
}  // namespace lynxpp::ptx
