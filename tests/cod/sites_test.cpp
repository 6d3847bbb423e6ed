// Properties of the kernel's instructions and blocks in ON_REPORT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using testing::HasSubstr;

SiteTable small_table() {
  SiteTable table;
  table.functions = {"_Z6vecaddPf", "helper"};
  table.opcodes = {"ld.global.f32", "bra", "add.s32", "red.shared.add.u32"};
  table.files = {"src/vecadd.cu"};
  table.blocks = {{0, 0, 2}, {0, 2, 0}, {1, 2, 2}};
  const auto labels = [](const char* opcode, bool guarded) {
    return LabelSets{labels_of(ptx::classify(opcode), guarded), std::nullopt};
  };
  table.instructions = {{0, 0, labels("ld.global.f32", false), 12, 0, 7},
                        {0, 1, labels("bra", true), 13, 0, 8},
                        {2, 2, labels("add.s32", false), 20, SiteTable::unknown, 0},
                        {2, 3, labels("red.shared.add.u32", false), 21, SiteTable::unknown, 0}};
  return table;
}

ReportRun report_on_sites(const std::string& source) {
  static const SiteTable table = small_table();
  LaunchView launch;
  launch.basic_blocks = table.blocks.size();
  launch.instructions = table.instructions.size();
  launch.sites = &table;
  return run_report(source, launch);
}

TEST(Sites, BoxesOfTensorCopiesBelongToTheLaunch) {
  static const SiteTable table = small_table();
  LaunchView launch;
  launch.instructions = table.instructions.size();
  launch.sites = &table;
  launch.tensor_copies = {{0, 5'000'000'000, 0}, {2, 256, 2}};
  const ReportRun run = run_report(R"(
    ON_REPORT: {
      unsigned long bytes[4], lines[4];
      for (unsigned long i = 0; i < 4; ++i) { bytes[i] = boxBytes(i); lines[i] = boxLines(i); }
      emit("first", bytes[0]);
      emit("lines of first", lines[0]);
      emit("none", bytes[1] + lines[1] + bytes[3] + lines[3]);
      emit("third", bytes[2] + lines[2]);
    })",
                                   launch);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("first"), 5'000'000'000);
  EXPECT_EQ(run.number("lines of first"), 0);
  EXPECT_EQ(run.number("none"), 0);
  EXPECT_EQ(run.number("third"), 258);
  EXPECT_THAT(errors_of("ON_INSTRUCTION: { unsigned long x = boxBytes(0); }"),
              HasSubstr("boxBytes() is not available in ON_INSTRUCTION"));
}

TEST(Sites, LabelsMatchFilters) {
  const ReportRun run = report_on_sites(R"(
    ON_REPORT: {
      emit("load", instructionIs(0, MEM_READ, GLOBAL, FLOATING_POINT));
      emit("shared load", instructionIs(0, MEM_READ, SHARED));
      emit("load or arithmetic", instructionIs(0, ARITHMETIC, MEM_READ, GLOBAL));
      emit("branch", instructionIs(1, BRANCH));
      emit("guarded", instructionIs(1, PREDICATED) + 10 * instructionIs(2, PREDICATED));
      emit("integer", instructionIs(2, ARITHMETIC, INTEGER));
      emit("floating", instructionIs(2, ARITHMETIC, FLOATING_POINT));
      emit("atomic", instructionIs(3, ATOMIC, SHARED));
      emit("writes", instructionIs(3, MEM_WRITE));
    })");
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("load"), 1);
  EXPECT_EQ(run.number("shared load"), 0);
  EXPECT_EQ(run.number("load or arithmetic"), 1);
  EXPECT_EQ(run.number("branch"), 1);
  EXPECT_EQ(run.number("guarded"), 1);
  EXPECT_EQ(run.number("integer"), 1);
  EXPECT_EQ(run.number("floating"), 0);
  EXPECT_EQ(run.number("atomic"), 1);
  EXPECT_EQ(run.number("writes"), 1);
}

TEST(Sites, BlocksAndLinesAreKnown) {
  const ReportRun run = report_on_sites(R"(
    ON_REPORT: {
      unsigned long mixed = 0;
      for (unsigned long i = 0; i < INSTRUCTIONS; ++i) mixed = 10 * mixed + instructionBlock(i);
      emit("blocks", mixed);
      unsigned long firsts = 0;
      for (unsigned long b = 0; b <= BASIC_BLOCKS; ++b) firsts = 10 * firsts + blockFirstInstruction(b);
      emit("firsts", firsts);
      emit("line", sourceLine(1));
      emit("no line", sourceLine(3));
      emit("ptx line", ptxLine(3));
    })");
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("blocks"), 22);
  EXPECT_EQ(run.number("firsts"), 224) << "blocks 0, 1 and 2, and after the last";
  EXPECT_EQ(run.number("line"), 8);
  EXPECT_EQ(run.number("no line"), 0);
  EXPECT_EQ(run.number("ptx line"), 21);
}

TEST(Sites, StringsAreAcceptedByPrintAndAsNames) {
  const ReportRun run = report_on_sites(R"(
    ON_REPORT: {
      for (int i = 0; i < 4; ++i) print("%d %-14s|%s:%u %s;", i, opcode(i), sourceFile(i), sourceLine(i), functionName(i));
      print("%s%.2s", "literal", "cut");
      emit(opcode(3), 5, opcode(1));
    })");
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.printed,
            "0 ld.global.f32 |src/vecadd.cu:7 _Z6vecaddPf;1 bra           |src/vecadd.cu:8 _Z6vecaddPf;"
            "2 add.s32       |:0 helper;3 red.shared.add.u32|:0 helper;literalcu");
  EXPECT_EQ(run.number("red.shared.add.u32"), 5);
  EXPECT_EQ(run.find("red.shared.add.u32")->unit, "bra");
}

TEST(Sites, InvalidIndicesAreReported) {
  const ReportRun run = report_on_sites(R"(ON_REPORT: {
      emit("o", instructionIs(4, MEM_READ));
      emit("n", sourceLine(-1));
      emit("b", blockFirstInstruction(4));
      print("[%s]", opcode(99));
    })");
  EXPECT_EQ(run.number("o"), 0);
  EXPECT_EQ(run.number("b"), 0);
  EXPECT_EQ(run.printed, "[]");
  EXPECT_THAT(run.failure, HasSubstr("t.cod:2:17: error: no instruction has this index"));
  EXPECT_THAT(run.failure, HasSubstr("t.cod:3:17: error: no instruction has this index"));
  EXPECT_THAT(run.failure, HasSubstr("t.cod:4:17: error: no basic block has this index"));
  EXPECT_THAT(run.failure, HasSubstr("t.cod:5:21: error: no instruction has this index"));
}

TEST(Sites, WithoutATableNothingIsKnown) {
  const ReportRun run = run_report("ON_REPORT: { emit(\"o\", sourceLine(0)); }", LaunchView{});
  EXPECT_THAT(run.failure, HasSubstr("no instruction has this index"));
}

TEST(Sites, EmittedArraysKeepTheNamesOfTheirExtents) {
  std::vector<std::uint32_t> counts(8);
  LaunchView launch;
  launch.instructions = 4;
  launch.arrays = {bytes_of_vector(counts)};
  const ReportRun run = run_report(
      "const int pair = 2; global unsigned int counts[INSTRUCTIONS][pair]; ON_REPORT: { emit(\"c\", counts); "
      "}",
      launch);
  ASSERT_NE(run.find("c"), nullptr);
  EXPECT_THAT(run.find("c")->dimension_names, testing::ElementsAre("INSTRUCTIONS", "2"));
}

TEST(Sites, RejectMisuse) {
  EXPECT_THAT(errors_of("ON_REPORT: { emit(\"x\", instructionIs(0)); }"),
              HasSubstr("instructionIs() takes 2 to 32 arguments, not 1"));
  EXPECT_THAT(errors_of("ON_REPORT: { emit(\"x\", instructionIs(0, MEM_REED)); }"),
              HasSubstr("did you mean 'MEM_READ'?"));
  EXPECT_THAT(errors_of("ON_REPORT: { emit(\"x\", instructionIs(0, 1)); }"),
              HasSubstr("instructionIs() takes filter labels"));
  EXPECT_THAT(errors_of("ON_REPORT: { emit(\"x\", instructionIs(0.5, MEM_READ)); }"),
              HasSubstr("requires an integer value, but this has type double"));
  EXPECT_THAT(errors_of("ON_REPORT: { emit(\"x\", 1 + opcode(0)); }"),
              HasSubstr("a string is not allowed here"));
  EXPECT_THAT(errors_of("ON_REPORT: { emit(\"x\", opcode(0)); }"), HasSubstr("a string is not allowed here"));
  EXPECT_THAT(errors_of("ON_REPORT: { print(\"%d\", opcode(0)); }"), HasSubstr("use %s for strings"));
  EXPECT_THAT(errors_of("ON_REPORT: { print(\"%s\", 3); }"),
              HasSubstr("'%s' cannot format a value of type int"));
  EXPECT_THAT(errors_of("ON_REPORT: { int s = opcode(0); }"), HasSubstr("a string is not allowed here"));
  EXPECT_THAT(errors_of("ON_INSTRUCTION: { unsigned x = instructionIs(0, MEM_READ); }"),
              HasSubstr("instructionIs() is not available in ON_INSTRUCTION"));
}

}  // namespace
}  // namespace lynxpp::cod
